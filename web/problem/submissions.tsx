/** The tab Submissions: the learner's own, newest first; each can be opened, and its code taken up again. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { list, show } from "../api/submissions";
import type { Problem, Submission } from "../api/types";
import { outcome } from "../results/outcomes";
import { useAnswer } from "../shell/answer";
import { useClient } from "../shell/app";
import { subject } from "../shell/credential";
import { Failure } from "../shell/failure";
import type { Attempts } from "./attempt";
import { sourceOf } from "./sent";
import { ago } from "./when";

interface Props {
  problem: Problem;
  attempts: Attempts;
  load: (source: string) => void;
}

export function Submissions({ problem, attempts, load }: Props) {
  const client = useClient();
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const ended = attempts.current.value?.record?.id;
  const ask = useCallback(
    () => Promise.all(cursors.map((cursor) => list(client, problem.slug, subject(), cursor))),
    [client, problem.slug, cursors],
  );
  const [answer, again] = useAnswer(ask);
  useEffect(again, [again, ended]);
  const pages = answer.state === "known" ? answer.value : [];
  const next = pages.at(-1)?.next_cursor ?? null;
  const items = pages.flatMap((page) => page.items);
  return (
    <>
      <h1 class="panel-title">Submissions</h1>
      {answer.state === "failed" && <Failure what="Your submissions can't be shown" error={answer.error} again={again} />}
      {answer.state === "known" && items.length === 0 && <p class="lead">None yet. Run tries the public cases, Submit all of them.</p>}
      <ul class="submissions">
        {items.map((item) => (
          <Item key={item.id} item={item} open={async () => attempts.open(await show(client, item.id))} load={load} current={ended} />
        ))}
      </ul>
      {next !== null && (
        <button type="button" class="button" onClick={() => setCursors([...cursors, next])}>
          Older ones
        </button>
      )}
    </>
  );
}

interface ItemProps {
  item: Submission;
  open: () => Promise<void>;
  load: (source: string) => void;
  current: string | undefined;
}

function Item({ item, open, load, current }: ItemProps) {
  const source = sourceOf(item.id);
  const [failed, setFailed] = useState(false);
  useEffect(() => setFailed(false), [current]);
  const { label, kind } = outcome(item.verdict ?? item.status);
  const score = item.total !== null && item.verdict !== null ? ` · ${item.passed} of ${item.total}` : "";
  return (
    <li class={item.id === current ? "current" : ""}>
      <button type="button" class="open" onClick={() => open().catch(() => setFailed(true))} aria-current={item.id === current}>
        <span class={`dot ${kind}`} aria-hidden="true" />
        <span class="label">{label}</span>
        <span class="when">
          {item.mode === "run" ? "run" : "submit"}
          {score} · <time dateTime={item.created_at}>{ago(item.created_at)}</time>
        </span>
      </button>
      {source !== null && (
        <button type="button" class="button quiet" onClick={() => load(source)}>
          Edit this code
        </button>
      )}
      {failed && <span role="alert">It can't be opened at the moment.</span>}
    </li>
  );
}
