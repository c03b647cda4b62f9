/** What came of a try: the verdict and its sentence first, then why, then everything there is to see. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Submission } from "../api/types";
import type { Attempt } from "../problem/attempt";
import { Failure } from "../shell/failure";
import { narrow } from "../shell/narrow";
import { CaseDetail } from "./case-detail";
import { CaseGrid } from "./case-grid";
import { Exception } from "./exception";
import { Facts } from "./facts";
import { Mistakes } from "./mistakes";
import { outcome } from "./outcomes";
import { Output } from "./output";
import "./results.css";
import { Verdict } from "./verdict";

interface Props {
  attempt: Attempt | null;
  /** Whether the code has been changed since. */
  stale: boolean;
  /** Shows a line of the learner's code. */
  show: (line: number) => void;
}

export function Results({ attempt, stale, show }: Props) {
  const place = useRef<HTMLElement>(null);
  const underWay = attempt !== null && attempt.record === null;
  useEffect(() => {
    if (underWay && narrow.peek()) place.current?.scrollIntoView({ block: "nearest" });
  }, [underWay]);
  return (
    <section ref={place} class="results" aria-label="Results" tabIndex={0}>
      <p class="visually-hidden" role="status">
        {attempt?.record ? spoken(attempt.record) : ""}
      </p>
      {attempt === null ? <Nothing /> : <Shown key={attempt.record?.id} attempt={attempt} stale={stale} show={show} />}
    </section>
  );
}

/** What a screen reader says when the verdict is there. */
function spoken({ verdict, status, summary }: Submission): string {
  return `${outcome(verdict ?? status).label}. ${summary ?? ""}`;
}

function Nothing() {
  return (
    <div class="nothing">
      <p>
        <strong>Run</strong> tries the public cases, whose values you can see. <strong>Submit</strong> tries the hidden ones too.
      </p>
      <p>
        <kbd>Ctrl</kbd> <kbd>↵</kbd> runs, <kbd>Ctrl</kbd> <kbd>⇧</kbd> <kbd>↵</kbd> submits, <kbd>Esc</kbd> leaves the editor.
      </p>
    </div>
  );
}

function Shown({ attempt, stale, show }: { attempt: Attempt; stale: boolean; show: (line: number) => void }) {
  const { record, cases, refusal } = attempt;
  const [chosen, setChosen] = useState<string | null>(null);
  const first = cases.find((one) => one.outcome !== "passed" && one.outcome !== "not_run") ?? cases[0];
  const detailed = cases.find((one) => one.name === chosen) ?? (record ? first : undefined);
  useEffect(() => setChosen(null), [record?.id]);
  if (refusal !== null) return <Failure what="It was not taken" error={refusal} />;
  return (
    <>
      <Verdict attempt={attempt} stale={stale} />
      {record && <Mistakes mistakes={record.diagnosis} />}
      {record?.error && <Exception fault={record.error} show={show} />}
      {cases.length > 0 && <CaseGrid cases={cases} chosen={detailed?.name ?? null} choose={setChosen} />}
      {detailed && <CaseDetail key={detailed.name} one={detailed} />}
      {record && <Output record={record} />}
      {record && <Facts record={record} />}
    </>
  );
}
