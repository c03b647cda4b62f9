/** Who the learner is to the service: a key or token where one is needed, else an opaque name for this browser. */
import { signal } from "@preact/signals";
import { recall, remember } from "./storage";

/** Sent as `Authorization: Bearer`; null where the service needs none. Kept for this tab only. */
export const credential = signal<string | null>(fromAddress() ?? recall<string>("credential", "tab"));

/** Takes a key or token that was typed in. */
export function giveCredential(value: string): void {
  credential.value = value;
  remember("credential", value, "tab");
}

/** The learner's opaque id, or null: a token carries its own, and a key speaks for a site. */
export function subject(): string | null {
  if (credential.value !== null) return null;
  const known = recall<string>("subject");
  if (known !== null) return known;
  const made = `browser-${crypto.randomUUID()}`;
  remember("subject", made);
  return made;
}

/** A site may link with `#token=...`; it does not stay in the address. */
function fromAddress(): string | null {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return null;
  remember("credential", given, "tab");
  history.replaceState(history.state, "", location.pathname + location.search);
  return given;
}
