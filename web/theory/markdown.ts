/** Markdown with tables and LaTeX to HTML that is safe to show: raw HTML in the text stays text. */
import { micromark } from "micromark";
import { gfmTable, gfmTableHtml } from "micromark-extension-gfm-table";
import { math, mathHtml } from "micromark-extension-math";
import "katex/dist/katex.min.css";

const known = new Map<string, string>();

export function toHtml(text: string): string {
  const before = known.get(text);
  if (before !== undefined) return before;
  const html = micromark(text, {
    extensions: [gfmTable(), math()],
    htmlExtensions: [gfmTableHtml(), mathHtml({ throwOnError: false, strict: "ignore", trust: false })],
  });
  known.set(text, html);
  return html;
}
