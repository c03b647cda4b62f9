/** One case: what is known of it, which for a hidden one is its name, dtype, outcome and a sentence. */
import type { Case, Detail } from "../api/types";
import "./cases.css";
import { Comparison } from "./comparison";
import { Inputs } from "./inputs";
import { outcome } from "./outcomes";
import { asTensor, shapeText } from "./tensor";

export function CaseDetail({ one }: { one: Case }) {
  const { label, kind } = outcome(one.outcome);
  return (
    <article class="case appear">
      <h3>
        <code>{one.name}</code> <span class={`word ${kind}`}>{label}</span>
        <span class="about">
          {[one.dtype, one.visibility, one.time_ms !== null && `${one.time_ms} ms`].filter(Boolean).join(" · ")}
        </span>
      </h3>
      {one.message && (
        <p>
          <bdi>{one.message}</bdi>
        </p>
      )}
      {one.detail && <PublicDetail detail={one.detail} passed={one.outcome === "passed"} />}
    </article>
  );
}

function PublicDetail({ detail, passed }: { detail: Detail; passed: boolean }) {
  const expected = asTensor(detail.expected);
  const actual = asTensor(detail.actual);
  return (
    <>
      {expected && actual?.values !== null && actual && expected.values !== null ? (
        <Comparison expected={expected} actual={actual} worst={detail.worst} passed={passed} />
      ) : (
        <dl class="facts">
          <dt>Expected</dt>
          <dd>{expected ? <Described {...expected} /> : "nothing to compare with"}</dd>
          <dt>Yours</dt>
          <dd>{actual ? <Described {...actual} /> : "no tensor"}</dd>
        </dl>
      )}
      <Inputs inputs={detail.inputs} />
      {detail.truncated && <p class="stale">Only the first elements of large tensors are shown.</p>}
    </>
  );
}

function Described({ dtype, shape }: { dtype: string; shape: readonly number[] }) {
  return (
    <code>
      {dtype} {shapeText(shape)}
    </code>
  );
}
