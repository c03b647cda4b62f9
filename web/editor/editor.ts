/** The code editor: CodeMirror with what Python and this problem need. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
  currentCompletions,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Entry, Fault } from "../api/types";
import { completions } from "./completion";
import { faultMarks } from "./fault";
import { setMarks } from "./marks";
import { ruff } from "./ruff";
import { theme } from "./theme";
import "./tokens.css";

export interface Options {
  entry: Entry;
  text: string;
  changed: (text: string) => void;
}

export class Editor {
  private readonly view: EditorView;

  constructor(parent: HTMLElement, { entry, text, changed }: Options) {
    const tell = EditorView.updateListener.of((update) => {
      if (update.docChanged) changed(update.state.doc.toString());
    });
    const state = EditorState.create({ doc: text, extensions: [extensions(entry), tell] });
    this.view = new EditorView({ parent, state });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Puts another text in place of all of it, as one step that can be undone. */
  replace(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, userEvent: "input.replace" });
  }

  /** Puts the cursor on a line, counted from 1, and shows it. */
  goTo(line: number): void {
    const { doc } = this.view.state;
    const { from } = doc.line(Math.min(Math.max(line, 1), doc.lines));
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }

  /** Marks where an exception was raised; null takes the mark away. */
  markFault(fault: Fault | null): void {
    setMarks(this.view, "verdict", fault === null ? [] : faultMarks(this.view.state.doc, fault));
  }

  destroy(): void {
    this.view.destroy();
  }
}

function extensions(entry: Entry): Extension {
  return [
    lineNumbers(),
    lintGutter(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    dropCursor(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    autocompletion({ icons: false, defaultKeymap: false }),
    python(),
    indentUnit.of("    "),
    EditorState.tabSize.of(4),
    syntaxHighlighting(classHighlighter),
    completions(entry),
    ruff(),
    theme,
    EditorView.contentAttributes.of({ tabindex: "0", "aria-label": `Your code for ${entry.name}. Escape leaves the editor.` }),
    Prec.highest(keymap.of([{ key: "Escape", run: leave }])),
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...historyKeymap,
      ...lintKeymap,
      indentWithTab,
      ...defaultKeymap,
      { key: "Mod-f", run: find },
    ]),
  ];
}

/** The Tab key indents, so there has to be another way out: on to the buttons. An open list of completions is closed first. */
function leave(view: EditorView): boolean {
  if (currentCompletions(view.state).length > 0) return closeCompletion(view);
  document.getElementById("run")?.focus();
  return true;
}

function find(view: EditorView): boolean {
  void import("./search").then(({ openSearch }) => openSearch(view));
  return true;
}
