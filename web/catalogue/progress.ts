/** Which problems the learner has tried and solved, as this browser remembers it. */
import type { Submission } from "../api/types";
import { recall, remember } from "../shell/storage";

export type Progress = "new" | "tried" | "solved";

const NAME = "progress";

type Known = Partial<Record<string, Progress>>;

export function progressOf(slug: string): Progress {
  return recall<Known>(NAME)?.[slug] ?? "new";
}

/** Takes note of a verdict. Runs on public cases count as tries; a problem once solved stays solved. */
export function noteVerdict({ problem, mode, verdict }: Submission): void {
  if (verdict === null || verdict === "internal_error") return;
  const known = recall<Known>(NAME) ?? {};
  const now = verdict === "accepted" && mode === "submit" ? "solved" : "tried";
  if (known[problem] !== "solved") remember(NAME, { ...known, [problem]: now });
}
