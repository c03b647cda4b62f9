/** Search and replace, fetched when it is first asked for. */
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { StateEffect } from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";

const added = new WeakSet<EditorView>();

export function openSearch(view: EditorView): void {
  if (!added.has(view)) {
    const extensions = [search({ top: true }), highlightSelectionMatches(), keymap.of(searchKeymap)];
    view.dispatch({ effects: StateEffect.appendConfig.of(extensions) });
    added.add(view);
  }
  openSearchPanel(view);
}
