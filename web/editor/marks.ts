/** Underlines from several sources side by side: each replaces only its own. */
import { type Diagnostic, forEachDiagnostic, setDiagnostics } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";

export function setMarks(view: EditorView, source: string, marks: readonly Diagnostic[]): void {
  const others: Diagnostic[] = [];
  forEachDiagnostic(view.state, (mark, from, to) => {
    if (mark.source !== source) others.push({ ...mark, from, to });
  });
  view.dispatch(setDiagnostics(view.state, [...others, ...marks.map((mark) => ({ ...mark, source }))]));
}
