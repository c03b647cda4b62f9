/** What this browser remembers, as JSON. Where it may not (private windows, a full disk), it lasts as long as the page. */

const PREFIX = "grader:";
const memory = new Map<string, string>();

type Where = "browser" | "tab";

/** What was remembered, or null. */
export function recall<T>(name: string, where: Where = "browser"): T | null {
  const text = memory.get(name) ?? attempt(() => store(where).getItem(PREFIX + name));
  return parse<T>(text);
}

/** Remembers something; null forgets it. */
export function remember(name: string, value: unknown, where: Where = "browser"): void {
  memory.delete(name);
  if (value === null) {
    attempt(() => store(where).removeItem(PREFIX + name));
    return;
  }
  const text = JSON.stringify(value);
  const kept = attempt(() => (store(where).setItem(PREFIX + name, text), true));
  if (!kept) memory.set(name, text);
}

/** Calls back when another tab remembers something else, with that and what was there before. Returns how to stop. */
export function whenChangedElsewhere<T>(name: string, changed: (now: T | null, before: T | null) => void): () => void {
  const listen = (event: StorageEvent) => {
    const ours = event.storageArea === attempt(() => localStorage) && event.key === PREFIX + name;
    if (ours) changed(parse<T>(event.newValue), parse<T>(event.oldValue));
  };
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
}

function store(where: Where): Storage {
  return where === "browser" ? localStorage : sessionStorage;
}

function parse<T>(text: string | null): T | null {
  return text === null ? null : attempt(() => JSON.parse(text) as T);
}

function attempt<T>(action: () => T): T | null {
  try {
    return action();
  } catch {
    return null;
  }
}
