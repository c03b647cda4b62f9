/** One call to the service: address, credential, JSON, and the two ways in which it can fail. */
import type { ProblemDetails } from "./types";

/** The service said no. `detail` is its own sentence. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly retryAfterS: number | null,
  ) {
    super(detail);
  }

  /** Whether the same call may succeed later. */
  get passing(): boolean {
    return this.status === 429 || this.status >= 502;
  }
}

/** No answer: the network or the service is away. */
export class Unreachable extends Error {}

export interface Call {
  method?: "GET" | "POST" | "DELETE";
  query?: Record<string, string | null>;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
}

export class Client {
  constructor(
    private readonly base: URL,
    private readonly credential: () => string | null,
  ) {}

  /** The address of a call; parameters that are null are left out. */
  url(path: string, query: Record<string, string | null> = {}): URL {
    const url = new URL(path, this.base);
    for (const [name, value] of Object.entries(query)) if (value !== null) url.searchParams.set(name, value);
    return url;
  }

  /** The answer's JSON. Throws Refused or Unreachable; an AbortError when the caller's signal says so. */
  async call<T>(path: string, { method = "GET", query, headers = {}, body, signal }: Call = {}): Promise<T> {
    const known = this.credential();
    const sent: RequestInit = {
      method,
      headers: {
        ...headers,
        ...(known === null ? {} : { Authorization: `Bearer ${known}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    };
    const answer = await reach(() => fetch(this.url(path, query), sent));
    if (!answer.ok) throw await refusal(answer);
    return reach(() => answer.json() as Promise<T>);
  }
}

/** fetch's TypeError says only that nothing came; a body that breaks off says it as a SyntaxError. */
async function reach<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof TypeError || error instanceof SyntaxError) throw new Unreachable("no answer", { cause: error });
    throw error;
  }
}

async function refusal(answer: Response): Promise<Refused> {
  const retryAfter = Number.parseInt(answer.headers.get("Retry-After") ?? "", 10);
  const told = (await answer.json().catch(() => null)) as Partial<ProblemDetails> | null;
  const detail = told?.detail ?? `the service answered ${answer.status}`;
  return new Refused(answer.status, detail, Number.isNaN(retryAfter) ? null : retryAfter);
}
