/** Sends, shows, lists and cancels submissions. */
import { type Client, Refused, Unreachable } from "./client";
import type { NewSubmission, Submission, SubmissionPage } from "./types";

const LONGEST_PAUSE_S = 15;

export interface Sending {
  /** The same key with the same body is the same submission, however often it arrives. */
  key: string;
  body: NewSubmission;
}

/** Sends until it has arrived. `waiting` hears of each pause. Throws Refused when the service will not take it. */
export async function send(
  client: Client,
  { key, body }: Sending,
  signal: AbortSignal,
  waiting: (why: string) => void,
): Promise<Submission> {
  for (let tried = 0; ; tried += 1) {
    try {
      const headers = { "Idempotency-Key": key };
      return await client.call<Submission>("submissions", { method: "POST", headers, body, signal });
    } catch (error) {
      const passing = error instanceof Unreachable || (error instanceof Refused && error.passing);
      if (!passing) throw error;
      waiting(error instanceof Refused ? error.detail : "no connection to the service");
      await pause(pauseS(tried, error instanceof Refused ? error.retryAfterS : null), signal);
    }
  }
}

export function show(client: Client, id: string): Promise<Submission> {
  return client.call<Submission>(`submissions/${encodeURIComponent(id)}`);
}

export function cancel(client: Client, id: string): Promise<Submission> {
  return client.call<Submission>(`submissions/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** The learner's own, newest first. */
export function list(client: Client, problem: string, subject: string | null, cursor: string | null): Promise<SubmissionPage> {
  return client.call<SubmissionPage>("submissions", { query: { problem, subject, cursor, limit: "20" } });
}

/** Longer after each try, unless the service has named a time. */
export function pauseS(tried: number, asked: number | null = null): number {
  return asked ?? Math.min(LONGEST_PAUSE_S, 2 ** tried / 2);
}

/** Waits; less when the browser is connected again. Throws the signal's reason when it is aborted. */
export function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void) => () => {
      clearTimeout(timer);
      removeEventListener("online", online);
      signal.removeEventListener("abort", aborted);
      settle();
    };
    const online = done(resolve);
    const aborted = done(() => reject(signal.reason as Error));
    const timer = setTimeout(online, seconds * 1000);
    addEventListener("online", online);
    signal.addEventListener("abort", aborted);
    if (signal.aborted) aborted();
  });
}
