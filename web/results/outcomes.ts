/** How verdicts, outcomes and states are called and coloured. A sign goes with each colour. */

export type Kind = "good" | "bad" | "limit" | "ours" | "none";

export interface Outcome {
  label: string;
  kind: Kind;
  sign: string;
}

const KNOWN: Partial<Record<string, Outcome>> = {
  accepted: { label: "Accepted", kind: "good", sign: "✓" },
  passed: { label: "Passed", kind: "good", sign: "✓" },
  wrong_answer: { label: "Wrong answer", kind: "bad", sign: "×" },
  wrong_shape: { label: "Wrong shape", kind: "bad", sign: "×" },
  wrong_dtype: { label: "Wrong dtype", kind: "bad", sign: "×" },
  wrong_device: { label: "Wrong device", kind: "bad", sign: "×" },
  wrong_type: { label: "Wrong type", kind: "bad", sign: "×" },
  mutated_input: { label: "Changed an input", kind: "bad", sign: "×" },
  runtime_error: { label: "Runtime error", kind: "bad", sign: "!" },
  compile_error: { label: "Could not be loaded", kind: "bad", sign: "!" },
  security_violation: { label: "Stopped by the sandbox", kind: "bad", sign: "!" },
  time_limit_exceeded: { label: "Too slow", kind: "limit", sign: "!" },
  memory_limit_exceeded: { label: "Too much memory", kind: "limit", sign: "!" },
  output_limit_exceeded: { label: "Too much output", kind: "limit", sign: "!" },
  internal_error: { label: "The grader failed", kind: "ours", sign: "?" },
  not_run: { label: "Not run", kind: "none", sign: "–" },
  cancelled: { label: "Cancelled", kind: "none", sign: "–" },
  queued: { label: "In the queue", kind: "none", sign: "…" },
  running: { label: "Running", kind: "none", sign: "…" },
};

/** A name that this page does not know yet is shown as it is. */
export function outcome(name: string): Outcome {
  return KNOWN[name] ?? { label: name.replaceAll("_", " "), kind: "bad", sign: "!" };
}
