/** Underlines from Ruff, which runs in this browser, in a worker of its own. It is fetched when the editor is first used. */
import type { Diagnostic } from "@codemirror/lint";
import type { Extension, Text } from "@codemirror/state";
import { type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { setMarks } from "./marks";

const PAUSE_MS = 300;

/** What Ruff found. Lines and columns are counted from 1, columns in UTF-16 units as the editor does. */
export interface Finding {
  code: string | null;
  message: string;
  start: Place;
  end: Place;
}

export interface Place {
  line: number;
  column: number;
}

export interface Question {
  number: number;
  source: string;
}

export interface Reply {
  number: number;
  findings: readonly Finding[];
}

export function ruff(): Extension {
  return ViewPlugin.fromClass(Linter);
}

class Linter {
  private worker: Worker | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;

  constructor(private readonly view: EditorView) {}

  update(update: ViewUpdate): void {
    if (update.docChanged || (update.focusChanged && this.worker === null && update.view.hasFocus)) this.askSoon();
  }

  destroy(): void {
    clearTimeout(this.timer);
    this.worker?.terminate();
  }

  private askSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE_MS);
  }

  private ask(): void {
    this.worker ??= this.start();
    this.asked += 1;
    this.worker.postMessage({ number: this.asked, source: this.view.state.doc.toString() } satisfies Question);
  }

  private start(): Worker {
    const worker = new Worker(new URL("./ruff.worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => {
      if (data.number === this.asked) setMarks(this.view, "Ruff", data.findings.map((one) => mark(this.view.state.doc, one)));
    });
    worker.addEventListener("error", () => {
      this.worker = null;
    });
    return worker;
  }
}

function mark(doc: Text, { code, message, start, end }: Finding): Diagnostic {
  const from = offset(doc, start);
  const isError = code === null || code === "invalid-syntax" || code === "F821";
  return { from, to: Math.max(from, offset(doc, end)), severity: isError ? "error" : "warning", message };
}

function offset(doc: Text, { line, column }: Place): number {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(from + column - 1, to);
}
