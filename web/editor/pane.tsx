/** The editor's place in the page. The editor itself comes in a file of its own; until then the code can be read. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api/types";
import { Notice } from "../shell/notice";
import type { Editor } from "./editor";
import "./editor.css";

interface Props {
  problem: Problem;
  initial: string;
  changed: (text: string) => void;
  /** The editor, once it is there; null when it is gone. */
  ready: (editor: Editor | null) => void;
}

/** Starts loading the editor, so that it is there when it is needed. */
export const loadEditor = () => import("./editor");

export function EditorPane({ problem, initial, changed, ready }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"loading" | "there" | "failed">("loading");
  useEffect(() => {
    let editor: Editor | null = null;
    let left = false;
    loadEditor().then(
      (room) => {
        if (left || !place.current) return;
        editor = new room.Editor(place.current, { entry: problem.entry, text: initial, changed });
        setState("there");
        ready(editor);
      },
      () => setState("failed"),
    );
    return () => {
      left = true;
      editor?.destroy();
      ready(null);
    };
    // what it begins with counts once: from then on the editor has the text
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [problem.entry, changed, ready]);
  return (
    <div class="editor" ref={place}>
      {state === "loading" && <pre class="before">{initial}</pre>}
      {state === "failed" && <Notice kind="bad">The editor could not be loaded. Load the page again; your code is kept.</Notice>}
    </div>
  );
}
