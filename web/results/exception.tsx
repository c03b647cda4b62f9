/** What was raised, and where. All of it is the learner's own text. */
import type { Fault } from "../api/types";
import { faultText } from "../editor/fault";

export function Exception({ fault, show }: { fault: Fault; show: (line: number) => void }) {
  const { line, traceback } = fault;
  return (
    <article class="exception">
      <h3>
        <bdi>{faultText(fault)}</bdi>
      </h3>
      {line !== null && (
        <button type="button" class="plain" onClick={() => show(line)}>
          Line {line} of your code
        </button>
      )}
      {traceback && (
        <pre tabIndex={0} aria-label="Traceback">
          {traceback}
        </pre>
      )}
    </article>
  );
}
