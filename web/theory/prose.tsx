/** A text of a problem package. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { highlighted } from "../editor/highlight";
import { reachableWhenWide } from "../shell/scroller";
import { toHtml } from "./markdown";
import "./prose.css";

interface Props {
  text: string;
  language: string;
}

export function Prose({ text, language }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const html = useMemo(() => toHtml(text), [text]);
  useLayoutEffect(() => (place.current ? finish(place.current) : undefined), [html]);
  // the HTML is micromark's and KaTeX's own; what the text held of HTML is escaped
  return <div ref={place} class="prose" lang={language} dangerouslySetInnerHTML={{ __html: html }} />;
}

/** What Markdown can't say: links that lead elsewhere, coloured code, wide parts that scroll by themselves. */
function finish(place: HTMLElement): () => void {
  for (const link of place.querySelectorAll<HTMLAnchorElement>("a[href]")) {
    link.target = "_blank";
    link.rel = "noreferrer";
  }
  for (const code of place.querySelectorAll("code.language-python")) code.replaceChildren(...highlighted(code.textContent));
  for (const table of place.querySelectorAll("table")) {
    const scroller = document.createElement("div");
    scroller.className = "scroller";
    table.replaceWith(scroller);
    scroller.append(table);
  }
  return reachableWhenWide([...place.querySelectorAll<HTMLElement>(".scroller, .math-display, pre")]);
}
