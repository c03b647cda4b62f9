/** Python in colour outside of the editor, with the editor's own parser and classes. */
import { pythonLanguage } from "@codemirror/lang-python";
import { classHighlighter, highlightCode } from "@lezer/highlight";
import "./tokens.css";

export function highlighted(code: string): Node[] {
  const nodes: Node[] = [];
  const put = (text: string, classes: string) => {
    if (classes === "") return nodes.push(document.createTextNode(text));
    const span = document.createElement("span");
    span.className = classes;
    span.textContent = text;
    return nodes.push(span);
  };
  highlightCode(code, pythonLanguage.parser.parse(code), classHighlighter, put, () => put("\n", ""));
  return nodes;
}
