/** A verdict's exception as a mark at its line. */
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { Fault } from "../api/types";

export function faultMarks(doc: Text, fault: Fault): Diagnostic[] {
  if (fault.line === null || fault.line < 1 || fault.line > doc.lines) return [];
  const { from, to, text } = doc.line(fault.line);
  const start = from + (text.length - text.trimStart().length);
  return [{ from: start, to, severity: "error", message: faultText(fault) }];
}

export function faultText({ type, message }: Fault): string {
  return message ? `${type}: ${message}` : type;
}
