/** Completion: the problem's arguments with their shapes, and torch's names. Local names are the language package's own. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { pythonLanguage } from "@codemirror/lang-python";
import type { Extension } from "@codemirror/state";
import type { Entry, Parameter } from "../api/types";

type Names = typeof import("./torch-names.json");
type Module = keyof Names;

const IMPORTS = /^\s*(?:import\s+(torch[\w.]*)(?:\s+as\s+(\w+))?|from\s+(torch[\w.]*)\s+import\s+(\w+)(?:\s+as\s+(\w+))?)/gm;

export function completions(entry: Entry): Extension {
  const own = [...entry.parameters, ...(entry.init ?? [])].map(argument);
  return [
    pythonLanguage.data.of({ autocomplete: (context: CompletionContext) => names(context, own) }),
    pythonLanguage.data.of({ autocomplete: members }),
  ];
}

function argument(parameter: Parameter): Completion {
  const shape = parameter.kind === "tensor" ? `[${(parameter.shape ?? []).join(", ")}]` : parameter.kind;
  return { label: parameter.name, type: "variable", detail: shape, info: parameter.meaning, boost: 2 };
}

function names(context: CompletionContext, own: Completion[]): CompletionResult | null {
  const word = context.matchBefore(/(?<![\w.])[A-Za-z_]\w*/);
  return word === null ? null : { from: word.from, options: own, validFor: /^\w*$/ };
}

/** After a dot: names of the module that stands before it, else methods of tensors. */
async function members(context: CompletionContext): Promise<CompletionResult | null> {
  const found = context.matchBefore(/[\w)\]][\w.]*\.\w*/);
  if (found === null || /^\d/.test(found.text)) return null;
  const dot = found.text.lastIndexOf(".");
  const known = (await import("./torch-names.json")).default;
  const before = found.text.slice(0, dot);
  const module = resolve(before, context.state.doc.toString());
  const list = module !== null && module in known ? known[module as Module] : module === null ? known.Tensor : [];
  const type = module === null ? "method" : "function";
  return { from: found.from + dot + 1, options: list.map((label) => ({ label, type })), validFor: /^\w*$/ };
}

/** The full name of a module that the source imports under this name; null where it is none. */
function resolve(name: string, source: string): string | null {
  const [first = "", ...rest] = name.split(".");
  for (const [, whole, alias, from, member, renamed] of source.matchAll(IMPORTS)) {
    const full = whole ?? `${from}.${member}`;
    const bound = whole === undefined ? (renamed ?? member) : (alias ?? "torch");
    if (bound === first) return [alias === undefined && whole !== undefined ? "torch" : full, ...rest].join(".");
  }
  return null;
}
