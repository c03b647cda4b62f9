/** One try of the learner's, from the key press to the verdict; it outlives lost connections and a reload of the page. */
import { signal } from "@preact/signals";
import { type Client, Refused } from "../api/client";
import { follow } from "../api/follow";
import { cancel, type Sending, send, show } from "../api/submissions";
import type { Case, Mode, Submission } from "../api/types";
import { noteVerdict } from "../catalogue/progress";
import { subject } from "../shell/credential";
import { recall, remember } from "../shell/storage";
import { rememberSource, sourceOf } from "./sent";

export interface Attempt {
  mode: Mode;
  /** What was sent; null where an earlier submission was opened whose source this browser has not. */
  source: string | null;
  phase: "sending" | "queued" | "running" | "ended" | "refused";
  /** How many come before it, once that is known. */
  place: number | null;
  /** What holds it up at the moment, such as a lost connection. */
  trouble: string | null;
  /** The cases so far. */
  cases: readonly Case[];
  record: Submission | null;
  /** Why it came to nothing: the service would not take it, or lost it. */
  refusal: Refused | null;
}

/** What a tab remembers of a try that has not ended: it can be sent again with the same key. */
interface Pending {
  sending: Sending;
  id: string | null;
}

export class Attempts {
  readonly current = signal<Attempt | null>(null);
  private running = new AbortController();
  private id: string | null = null;

  constructor(
    private readonly client: Client,
    private readonly problem: string,
  ) {}

  /** Sends the source; what ran before is left alone and no longer followed. */
  start(mode: Mode, source: string): void {
    const body = { problem: this.problem, source, mode, subject: subject() };
    void this.carryOut({ sending: { key: crypto.randomUUID(), body }, id: null });
  }

  /** Goes on with what was under way when the page was left, else shows the last try. */
  resume(): void {
    const pending = recall<Pending>(this.pendingName, "tab");
    if (pending !== null) void this.carryOut(pending);
    else void this.reopen(recall<string>(this.lastName));
  }

  /** Shows an earlier submission. */
  open(record: Submission): void {
    this.forget();
    this.show(record, sourceOf(record.id));
  }

  /** Cancels what has not ended. */
  async cancel(): Promise<void> {
    const { id } = this;
    this.forget();
    if (id === null) {
      this.current.value = null;
      return;
    }
    const record = await cancel(this.client, id).catch(() => show(this.client, id));
    this.show(record, sourceOf(id));
  }

  /** No longer follows anything; the page is left. */
  leave(): void {
    this.running.abort();
  }

  private async carryOut(pending: Pending): Promise<void> {
    this.leave();
    this.running = new AbortController();
    const stopped = this.running.signal;
    const { body } = pending.sending;
    this.id = pending.id;
    this.keep(pending);
    this.current.value = { ...NOTHING, mode: body.mode ?? "submit", source: body.source };
    try {
      const sent = pending.id === null ? await this.send(pending.sending, stopped) : await show(this.client, pending.id);
      this.id = sent.id;
      rememberSource(sent.id, body.source);
      this.keep({ ...pending, id: sent.id });
      this.change({ phase: "queued", trouble: null });
      this.show(await follow(this.client, sent, this.listener(), stopped), body.source);
    } catch (error) {
      if (stopped.aborted) return;
      if (!(error instanceof Refused)) throw error;
      this.change({ phase: "refused", refusal: error });
    }
    this.keep(null);
  }

  private send(sending: Sending, stopped: AbortSignal): Promise<Submission> {
    return send(this.client, sending, stopped, (trouble) => this.change({ trouble }));
  }

  private listener() {
    return {
      queued: (place: number | null) => this.change({ place }),
      running: () => this.change({ phase: "running", place: null }),
      judged: (one: Case) => this.change({ phase: "running", cases: withCase(this.current.value?.cases ?? [], one) }),
      connected: (is: boolean) => this.change({ trouble: is ? null : "no connection to the service" }),
    };
  }

  private async reopen(id: string | null): Promise<void> {
    const record = id === null ? null : await show(this.client, id).catch(() => null);
    if (record !== null && this.current.value === null) this.show(record, sourceOf(record.id));
  }

  private show(record: Submission, source: string | null): void {
    noteVerdict(record);
    remember(this.lastName, record.id);
    const { mode, cases } = record;
    this.current.value = { ...NOTHING, mode, source, cases, record, phase: "ended" };
  }

  private forget(): void {
    this.leave();
    this.id = null;
    this.keep(null);
  }

  private keep(pending: Pending | null): void {
    remember(this.pendingName, pending, "tab");
  }

  private change(part: Partial<Attempt>): void {
    if (this.current.value !== null) this.current.value = { ...this.current.value, ...part };
  }

  private get pendingName(): string {
    return `pending:${this.problem}`;
  }

  private get lastName(): string {
    return `last:${this.problem}`;
  }
}

const NOTHING: Attempt = {
  mode: "run",
  source: null,
  phase: "sending",
  place: null,
  trouble: null,
  cases: [],
  record: null,
  refusal: null,
};

/** After a break the stream begins anew, so a case may come twice. */
function withCase(cases: readonly Case[], one: Case): readonly Case[] {
  return cases.some(({ name }) => name === one.name) ? cases : [...cases, one];
}

/** Whether it has not come to an end. */
export function isUnderWay(attempt: Attempt | null): boolean {
  return attempt !== null && attempt.phase !== "ended" && attempt.phase !== "refused";
}
