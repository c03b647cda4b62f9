/** A problem's page: what to read on the left, editor and results on the right; on a phone one at a time. */
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import * as problems from "../api/problems";
import type { Problem } from "../api/types";
import { loadEditor } from "../editor/pane";
import { useAnswer } from "../shell/answer";
import { useClient } from "../shell/app";
import { useArrival } from "../shell/arrival";
import { Failure } from "../shell/failure";
import { Header } from "../shell/header";
import { narrow } from "../shell/narrow";
import { Split, useShare } from "../shell/split";
import { Attempts } from "./attempt";
import { Crumbs } from "./crumbs";
import { Languages, useLanguage } from "./languages";
import "./problem.css";
import { Reading, useTab } from "./reading";
import { Workbench } from "./workbench";

export function ProblemPage({ slug }: { slug: string }) {
  const client = useClient();
  const [answer, again] = useAnswer(useCallback(() => problems.show(client, slug), [client, slug]));
  useEffect(() => void loadEditor(), []);
  if (answer.state === "known") return <Known key={slug} problem={answer.value} />;
  return (
    <>
      <Header />
      <main class="centred">
        {answer.state === "failed" && <Failure what="The problem can't be shown" error={answer.error} again={again} />}
      </main>
    </>
  );
}

function Known({ problem }: { problem: Problem }) {
  const client = useClient();
  const attempts = useMemo(() => new Attempts(client, problem.slug), [client, problem.slug]);
  const [language, setLanguage] = useLanguage(problem);
  const main = useArrival(problem.title);
  const [tab, setTab] = useTab();
  const [share, setShare] = useShare("reading", 44);
  const [loaded, setLoaded] = useState<{ source: string } | null>(null);
  useEffect(() => {
    attempts.resume();
    return () => attempts.leave();
  }, [attempts]);
  const shown = narrow.value || tab !== "code" ? tab : "problem";
  const load = (source: string) => {
    setLoaded({ source });
    if (narrow.value) setTab("code");
  };
  return (
    <>
      <Header>
        <Crumbs problem={problem} />
        <Languages languages={problem.languages} chosen={language} choose={setLanguage} />
      </Header>
      <main ref={main} tabIndex={-1} class={narrow.value ? "problem narrow" : "problem"} style={{ "--share": `${share}%` }}>
        <Reading problem={problem} language={language} tab={shown} choose={setTab} attempts={attempts} load={load} />
        {!narrow.value && <Split orientation="vertical" label="Width of the text" share={share} moved={setShare} />}
        <Workbench problem={problem} attempts={attempts} hidden={narrow.value && shown !== "code"} loaded={loaded} />
      </main>
    </>
  );
}
