/** Run, Submit, Cancel, Reset; and where a try stands. */
import type { Mode } from "../api/types";
import { type Attempt, isUnderWay } from "./attempt";

interface Props {
  attempt: Attempt | null;
  start: (mode: Mode) => void;
  cancel: () => void;
  /** Whether the code is the starter as it came. */
  pristine: boolean;
  reset: () => void;
}

export function Actions({ attempt, start, cancel, pristine, reset }: Props) {
  const busy = isUnderWay(attempt);
  return (
    <div class="actions">
      <button type="button" id="run" class="button" aria-disabled={busy} onClick={() => start("run")} title="The public cases">
        Run <kbd>Ctrl ↵</kbd>
      </button>
      <button type="button" class="button primary" aria-disabled={busy} onClick={() => start("submit")} title="All cases">
        Submit <kbd>Ctrl ⇧ ↵</kbd>
      </button>
      {busy && (
        <button type="button" class="button quiet" onClick={cancel}>
          Cancel
        </button>
      )}
      <p class="state" role="status">
        {busy && attempt ? standing(attempt) : ""}
      </p>
      <button type="button" class="button quiet reset" disabled={pristine} onClick={reset} title="Back to the starter; Ctrl+Z undoes it">
        Reset
      </button>
    </div>
  );
}

function standing({ phase, place, trouble, cases }: Attempt): string {
  if (trouble !== null) return `${trouble}; it goes on by itself`;
  if (phase === "sending") return "Sending…";
  if (phase === "queued" && place !== null) return place === 0 ? "Next in the queue" : `In the queue, ${place} before it`;
  if (phase === "queued") return "Waiting…";
  return cases.length === 0 ? "Running…" : `Running, ${cases.length} cases judged`;
}
