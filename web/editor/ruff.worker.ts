/** Runs Ruff beside the page, so that typing never waits for it. */
import init, { type Diagnostic, PositionEncoding, Workspace } from "@astral-sh/ruff-wasm-web";
import type { Finding, Place, Question, Reply } from "./ruff";

/** Syntax errors, and what pyflakes and bugbear find: slips, no matters of taste. */
const SETTINGS = { "target-version": "py311", lint: { select: ["E9", "F", "B"], ignore: ["B018"] } };

let workspace: Workspace | null = null;

addEventListener("message", async ({ data }: MessageEvent<Question>) => {
  workspace ??= await load();
  if (workspace === null) return;
  const found = workspace.check(data.source) as Diagnostic[];
  postMessage({ number: data.number, findings: found.map(finding) } satisfies Reply);
});

/** Null without a connection: the next question tries again, and until then nothing is underlined. */
async function load(): Promise<Workspace | null> {
  try {
    await init();
    return new Workspace(SETTINGS, PositionEncoding.Utf16);
  } catch {
    return null;
  }
}

function finding({ code, message, start_location, end_location }: Diagnostic): Finding {
  return { code, message, start: place(start_location), end: place(end_location) };
}

function place({ row, column }: Diagnostic["start_location"]): Place {
  return { line: row, column };
}
