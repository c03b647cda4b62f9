/** What happens when a page of ours is there: its title, and the focus, which a browser moves only for pages of its own. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { cameByLink } from "./router";

/** For `<main tabIndex={-1}>`: who came by a link within the page finds the focus there. */
export function useArrival(title: string): RefObject<HTMLElement | null> {
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${title} · grader`;
    if (cameByLink()) main.current?.focus({ preventScroll: true });
  }, [title]);
  return main;
}
