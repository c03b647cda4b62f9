/** The catalogue, and one problem with its texts. */
import type { Client } from "./client";
import type { Problem, ProblemSummary } from "./types";

export function list(client: Client): Promise<ProblemSummary[]> {
  return client.call<ProblemSummary[]>("problems");
}

export function show(client: Client, slug: string): Promise<Problem> {
  return client.call<Problem>(`problems/${encodeURIComponent(slug)}`);
}

/** Hint number `n`, counted from 1. */
export async function hint(_client: Client, from: Problem, n: number): Promise<string> {
  return from.hints[n - 1] ?? "";
}

/** A text in the language asked for, else in the problem's own. */
export function textIn(problem: Problem, name: "statement" | "theory", language: string): { text: string; language: string } {
  const translated = problem.translations[language]?.[name];
  return translated === undefined ? { text: problem[name], language: problem.language } : { text: translated, language };
}
