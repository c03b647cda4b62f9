/** All problems, to be searched and narrowed down. */
import { useCallback, useState } from "preact/hooks";
import * as problems from "../api/problems";
import type { ProblemSummary } from "../api/types";
import { useAnswer } from "../shell/answer";
import { useClient } from "../shell/app";
import { useArrival } from "../shell/arrival";
import { Failure } from "../shell/failure";
import { Header } from "../shell/header";
import { Link } from "../shell/link";
import { problemPath } from "../shell/router";
import "./catalogue.css";
import { everything, type Filter, matches, type Row, rows, tagsOf } from "./filter";
import { Filters } from "./filters";

export function Catalogue() {
  const client = useClient();
  const [answer, again] = useAnswer(useCallback(() => problems.list(client), [client]));
  const main = useArrival("Problems");
  return (
    <>
      <Header />
      <main ref={main} tabIndex={-1} class="catalogue">
        <h1>Problems</h1>
        <p class="lead">PyTorch, written by hand: read the formula, write the function, and see which element is off and why.</p>
        {answer.state === "failed" && <Failure what="The problems can't be shown" error={answer.error} again={again} />}
        {answer.state === "known" && <Problems problems={answer.value} />}
      </main>
      <footer class="foot">
        <a href="docs">API</a>
        <a href="third-party.txt">Third-party notices</a>
      </footer>
    </>
  );
}

function Problems({ problems: all }: { problems: readonly ProblemSummary[] }) {
  const [filter, setFilter] = useState<Filter>(everything);
  const shown = rows(all).filter((row) => matches(row, filter));
  return (
    <>
      <Filters filter={filter} change={setFilter} tags={tagsOf(all)} />
      <p class="count" role="status">
        {shown.length === all.length ? `${all.length} problems` : `${shown.length} of ${all.length} problems`}
      </p>
      {shown.length > 0 && (
        <ul class="problems">
          {shown.map((row) => (
            <ProblemRow key={row.slug} row={row} />
          ))}
        </ul>
      )}
      {shown.length === 0 && all.length > 0 && (
        <p class="empty">
          No problem fits.{" "}
          <button type="button" class="plain" onClick={() => setFilter(everything)}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}

const PROGRESS = { new: "not tried yet", tried: "tried", solved: "solved" } as const;

function ProblemRow({ row }: { row: Row }) {
  return (
    <li>
      <Link to={problemPath(row.slug)}>
        <span class={`progress ${row.progress}`} role="img" aria-label={PROGRESS[row.progress]} title={PROGRESS[row.progress]} />
        <span class="about">
          <span class="title">{row.title}</span>
          <span class="summary">{row.summary}</span>
          <span class="tags">{row.tags.join(" · ")}</span>
        </span>
        <span class={`difficulty ${row.difficulty}`}>{row.difficulty}</span>
      </Link>
    </li>
  );
}
