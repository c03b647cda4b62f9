/** The sources that this browser has sent lately, by submission. */
import { recall, remember } from "../shell/storage";

const NAME = "sent";
const KEPT = 40;

type Sent = readonly { id: string; source: string }[];

export function rememberSource(id: string, source: string): void {
  const before = (recall<Sent>(NAME) ?? []).filter((sent) => sent.id !== id);
  remember(NAME, [{ id, source }, ...before].slice(0, KEPT));
}

/** Null where another browser sent it, or long ago. */
export function sourceOf(id: string): string | null {
  return recall<Sent>(NAME)?.find((sent) => sent.id === id)?.source ?? null;
}
