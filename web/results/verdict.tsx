/** The verdict and its sentence; while it runs, that it does. */
import type { Attempt } from "../problem/attempt";
import { outcome } from "./outcomes";

export function Verdict({ attempt: { record, mode, phase }, stale }: { attempt: Attempt; stale: boolean }) {
  if (record === null) {
    return (
      <div class="verdict waiting">
        <h2>
          <span class="spinner" aria-hidden="true" /> {phase === "running" ? "Running" : "On its way"}
        </h2>
      </div>
    );
  }
  const name = record.verdict ?? record.status;
  const { label, kind, sign } = outcome(name);
  const passed = mode === "run" && name === "accepted" ? "Public cases passed" : label;
  return (
    <div class={`verdict ${kind} appear`}>
      <h2>
        <span class="sign" aria-hidden="true">
          {sign}
        </span>
        {passed}
        {record.total !== null && record.verdict !== null && (
          <span class="score">
            {record.passed} of {record.total}
          </span>
        )}
      </h2>
      {record.summary && <p>{record.summary}</p>}
      {mode === "run" && name === "accepted" && <p>Submit tries the hidden cases too.</p>}
      {stale && <p class="stale">You have changed your code since.</p>}
    </div>
  );
}
