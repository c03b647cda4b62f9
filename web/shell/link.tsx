/** A link within the page; with a modifier key or another button it is the browser's own. */
import type { ComponentChildren } from "preact";
import { go } from "./router";

interface Props {
  to: string;
  class?: string;
  /** What it is called where its content does not say so. */
  label?: string;
  children?: ComponentChildren;
}

export function Link({ to, class: name = "", label, children }: Props) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a class={name} href={to === "" ? "./" : to} aria-label={label} title={label} onClick={follow}>
      {children}
    </a>
  );
}
