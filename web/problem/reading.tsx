/** What there is to read about a problem, in tabs; the address keeps which one is open. */
import { useState } from "preact/hooks";
import type { Problem } from "../api/types";
import { narrow } from "../shell/narrow";
import { Panel, Tabs } from "../shell/tabs";
import { Theory } from "../theory/theory";
import type { Attempts } from "./attempt";
import { Hints } from "./hints";
import "./reading.css";
import { Statement } from "./statement";
import { Submissions } from "./submissions";

const PROBLEM = { id: "problem", label: "Problem" } as const;
const REST = [
  { id: "theory", label: "Theory" },
  { id: "hints", label: "Hints" },
  { id: "submissions", label: "Submissions" },
] as const;
const CODE = { id: "code", label: "Code" } as const;
const WIDE = [PROBLEM, ...REST] as const;
const NARROW = [PROBLEM, CODE, ...REST] as const;

export type TabId = (typeof NARROW)[number]["id"];

export function useTab(): [TabId, (id: string) => void] {
  const [tab, setTab] = useState<TabId>(() => asTab(location.hash.slice(1)));
  const choose = (id: string) => {
    setTab(asTab(id));
    history.replaceState(history.state, "", `${location.pathname}${location.search}#${id}`);
  };
  return [tab, choose];
}

function asTab(id: string): TabId {
  return NARROW.find((tab) => tab.id === id)?.id ?? "problem";
}

interface Props {
  problem: Problem;
  language: string;
  tab: TabId;
  choose: (id: string) => void;
  attempts: Attempts;
  load: (source: string) => void;
}

export function Reading({ problem, language, tab, choose, attempts, load }: Props) {
  return (
    <section class="reading" data-tab={tab} aria-label="Problem">
      <Tabs label="Problem" tabs={narrow.value ? NARROW : WIDE} chosen={tab} choose={choose} />
      {tab !== "code" && (
        <Panel id={tab} key={tab}>
          {tab === "problem" && <Statement problem={problem} language={language} />}
          {tab === "theory" && <Theory problem={problem} language={language} />}
          {tab === "hints" && <Hints problem={problem} />}
          {tab === "submissions" && <Submissions problem={problem} attempts={attempts} load={load} />}
        </Panel>
      )}
    </section>
  );
}
