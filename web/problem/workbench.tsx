/** Editor, the two buttons, and what came of them. */
import { useComputed } from "@preact/signals";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { Mode, Problem } from "../api/types";
import type { Editor } from "../editor/editor";
import { EditorPane } from "../editor/pane";
import { Results } from "../results/results";
import { narrow } from "../shell/narrow";
import { Split, useShare } from "../shell/split";
import { Actions } from "./actions";
import { type Attempt, type Attempts, isUnderWay } from "./attempt";
import { Draft } from "./draft";
import { Elsewhere } from "./elsewhere";
import "./workbench.css";

interface Props {
  problem: Problem;
  attempts: Attempts;
  hidden: boolean;
  /** A source to be put into the editor, anew each time the object changes. */
  loaded: { source: string } | null;
}

export function Workbench({ problem, attempts, hidden, loaded }: Props) {
  const draft = useMemo(() => new Draft(problem.slug, problem.starter), [problem]);
  const [editor, setEditor] = useState<Editor | null>(null);
  const [share, setShare] = useShare("editor", 50);
  const attempt = attempts.current.value;
  const pristine = useComputed(() => draft.text.value === draft.starter);
  const stale = useComputed(() => isStale(attempts.current.value, draft.text.value));
  const changed = useCallback((now: string) => draft.set(now), [draft]);
  const replace = useCallback((source: string) => editor?.replace(source), [editor]);
  const start = useCallback(
    (mode: Mode) => {
      if (!isUnderWay(attempts.current.value)) attempts.start(mode, draft.text.peek());
    },
    [attempts, draft],
  );
  useKeys(start);
  useEffect(() => {
    if (loaded) editor?.replace(loaded.source);
  }, [editor, loaded]);
  useEffect(() => {
    editor?.markFault(isStale(attempt, draft.text.peek()) ? null : (attempt?.record?.error ?? null));
  }, [editor, draft, attempt]);
  return (
    <section class="workbench" hidden={hidden} style={{ "--share": `${share}%` }} {...(narrow.value ? AS_PANEL : AS_PANE)}>
      {narrow.value && <h1 class="visually-hidden">{problem.title}</h1>}
      <EditorPane problem={problem} initial={draft.text.peek()} changed={changed} ready={setEditor} />
      <Elsewhere draft={draft} take={replace} />
      <Actions
        attempt={attempt}
        start={start}
        cancel={() => attempts.cancel()}
        pristine={pristine.value}
        reset={() => replace(draft.starter)}
      />
      {!narrow.value && <Split orientation="horizontal" label="Height of the editor" share={share} moved={setShare} />}
      <Results attempt={attempt} stale={stale.value} show={(line) => editor?.goTo(line)} />
    </section>
  );
}

/** Whether the results are those of other code than what stands there now. */
function isStale(attempt: Attempt | null, text: string): boolean {
  return attempt !== null && attempt.source !== null && attempt.source !== text;
}

const AS_PANE = { "aria-label": "Your code" } as const;
const AS_PANEL = { id: "panel-code", role: "tabpanel", "aria-labelledby": "tab-code" } as const;

/** Ctrl+Enter runs, Ctrl+Shift+Enter submits, wherever the focus is; on a Mac the Command key does too. */
function useKeys(start: (mode: Mode) => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      if (!event.repeat) start(event.shiftKey ? "submit" : "run");
    };
    addEventListener("keydown", press, { capture: true });
    return () => removeEventListener("keydown", press, { capture: true });
  }, [start]);
}
