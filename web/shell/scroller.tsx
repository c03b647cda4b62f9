/** What is wider than its place scrolls by itself, and is a stop for the Tab key only then. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Scroller({ children }: { children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => (place.current ? reachableWhenWide([place.current]) : undefined), []);
  return (
    <div ref={place} class="scroller">
      {children}
    </div>
  );
}

/** Keeps watching; returns how to stop. */
export function reachableWhenWide(scrollers: readonly HTMLElement[]): () => void {
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    }
  });
  for (const scroller of scrollers) observer.observe(scroller);
  return () => observer.disconnect();
}
