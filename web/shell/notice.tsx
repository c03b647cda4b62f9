/** A sentence that stands out. Screen readers say it when it appears. */
import type { ComponentChildren } from "preact";

interface Props {
  kind: "bad" | "warn" | "plain";
  children: ComponentChildren;
}

export function Notice({ kind, children }: Props) {
  return (
    <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      {children}
    </div>
  );
}
