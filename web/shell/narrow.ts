/** Whether the window is as narrow as a phone's: then one pane is shown at a time. */
import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 56rem)");

export const narrow = signal(query.matches);

query.addEventListener("change", () => {
  narrow.value = query.matches;
});
