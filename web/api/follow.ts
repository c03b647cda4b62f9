/** Follows a submission to its end by the event stream, which comes back by itself after each break. */
import { type Client, Refused } from "./client";
import { pause, pauseS, show } from "./submissions";
import type { Case, Submission } from "./types";

const PLACE_EVERY_S = 1;

export interface Listener {
  queued(position: number | null): void;
  running(): void;
  /** A case; the same one may come again after a break. */
  judged(one: Case): void;
  connected(is: boolean): void;
}

/** Resolves with the record once it has ended. Throws the signal's reason when it is aborted, Refused when it is gone. */
export async function follow(client: Client, sent: Submission, listener: Listener, signal: AbortSignal): Promise<Submission> {
  let record = sent;
  for (let tried = 0; ; tried += 1) {
    if (record.status === "finished" || record.status === "cancelled") return record;
    const stopAsking = keepAskingForPlace(client, record, listener);
    const ended = await stream(client, record, listener, signal).finally(stopAsking);
    if (ended !== null) return ended;
    listener.connected(false);
    await pause(pauseS(tried), signal);
    record = await again(client, record, signal);
  }
}

/** One stream: the final record, or null when it broke for good (browsers mend short breaks themselves). */
function stream(client: Client, record: Submission, listener: Listener, signal: AbortSignal): Promise<Submission | null> {
  const source = new EventSource(address(client, record));
  return new Promise<Submission | null>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    source.addEventListener("open", () => listener.connected(true));
    source.addEventListener("status", (event) => {
      const { status } = JSON.parse(event.data as string) as { status: string };
      if (status === "running") listener.running();
      if (status === "cancelled") show(client, record.id).then(resolve, () => resolve(null));
    });
    source.addEventListener("case", (event) => listener.judged(JSON.parse(event.data as string) as Case));
    source.addEventListener("verdict", (event) => resolve(JSON.parse(event.data as string) as Submission));
    source.addEventListener("error", () => {
      listener.connected(false);
      if (source.readyState === EventSource.CLOSED) resolve(null);
    });
  }).finally(() => source.close());
}

/** On the same origin as every other call, whatever name the service knows itself by. */
function address(client: Client, record: Submission): URL {
  const token = record.events_url === null ? null : new URL(record.events_url, location.href).searchParams.get("token");
  return client.url(`submissions/${record.id}/events`, { token });
}

/** Reads the record until that succeeds: it has a new events address. */
async function again(client: Client, record: Submission, signal: AbortSignal): Promise<Submission> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await show(client, record.id);
    } catch (error) {
      if (error instanceof Refused && !error.passing) throw error;
      await pause(pauseS(tried), signal);
    }
  }
}

/** The place in the queue, as long as there is one. */
function keepAskingForPlace(client: Client, record: Submission, listener: Listener): () => void {
  const timer = setInterval(async () => {
    const now = await show(client, record.id).catch(() => null);
    if (now?.status === "queued") listener.queued(now.queue?.position ?? null);
    else if (now) clearInterval(timer);
  }, PLACE_EVERY_S * 1000);
  return () => clearInterval(timer);
}
