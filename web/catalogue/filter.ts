/** Which problems are shown. */
import type { Difficulty, ProblemSummary } from "../api/types";
import { type Progress, progressOf } from "./progress";

export interface Filter {
  words: string;
  difficulty: Difficulty | null;
  tag: string | null;
  progress: "all" | "unsolved" | "solved";
}

export const everything: Filter = { words: "", difficulty: null, tag: null, progress: "all" };

export interface Row extends ProblemSummary {
  progress: Progress;
}

export function rows(problems: readonly ProblemSummary[]): Row[] {
  return problems.map((problem) => Object.assign({ progress: progressOf(problem.slug) }, problem));
}

export function matches(row: Row, filter: Filter): boolean {
  const text = [row.title, row.summary, row.slug, ...row.tags].join(" ").toLowerCase();
  return (
    filter.words
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word)) &&
    (filter.difficulty === null || row.difficulty === filter.difficulty) &&
    (filter.tag === null || row.tags.includes(filter.tag)) &&
    (filter.progress === "all" || (filter.progress === "solved") === (row.progress === "solved"))
  );
}

/** All tags, the commonest first. */
export function tagsOf(problems: readonly ProblemSummary[]): string[] {
  const counts = new Map<string, number>();
  for (const tag of problems.flatMap((problem) => problem.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts].toSorted(([a, m], [b, n]) => n - m || a.localeCompare(b)).map(([tag]) => tag);
}
