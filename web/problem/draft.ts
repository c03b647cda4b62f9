/** The learner's code: what the editor holds, kept in this browser, one draft for each problem. */
import { type Signal, signal } from "@preact/signals";
import { recall, remember, whenChangedElsewhere } from "../shell/storage";

export class Draft {
  /** The code as it stands in this tab. */
  readonly text: Signal<string>;
  private readonly name: string;

  constructor(
    slug: string,
    readonly starter: string,
  ) {
    this.name = `draft:${slug}`;
    this.text = signal(recall<string>(this.name) ?? starter);
  }

  /** Takes what was typed, and keeps it. The starter as it came is not kept: it may be another one tomorrow. */
  set(text: string): void {
    this.text.value = text;
    remember(this.name, text === this.starter ? null : text);
  }

  /** Calls back when another tab has changed it, with what it is now and was before. Returns how to stop. */
  whenChangedElsewhere(changed: (now: string, before: string) => void): () => void {
    return whenChangedElsewhere<string>(this.name, (now, before) => changed(now ?? this.starter, before ?? this.starter));
  }
}
