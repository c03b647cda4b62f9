/** Python that is shown, not written. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { highlighted } from "./highlight";

export function Code({ text }: { text: string }) {
  const place = useRef<HTMLElement>(null);
  useLayoutEffect(() => place.current?.replaceChildren(...highlighted(text)), [text]);
  return (
    <pre class="code">
      <code ref={place} />
    </pre>
  );
}
