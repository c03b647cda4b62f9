/** Python that is shown, not written. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { reachableWhenWide } from "../shell/scroller";
import { highlighted } from "./highlight";

export function Code({ text }: { text: string }) {
  const place = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    place.current?.firstElementChild?.replaceChildren(...highlighted(text));
    return place.current ? reachableWhenWide([place.current]) : undefined;
  }, [text]);
  return (
    <pre ref={place} class="code">
      <code />
    </pre>
  );
}
