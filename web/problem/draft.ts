/** The learner's code as this browser keeps it, one draft for each problem. */
import { recall, remember, whenChangedElsewhere } from "../shell/storage";

export class Draft {
  constructor(
    private readonly slug: string,
    readonly starter: string,
  ) {}

  /** The draft, or the starter where there is none. */
  load(): string {
    return recall<string>(this.name) ?? this.starter;
  }

  save(text: string): void {
    remember(this.name, text === this.starter ? null : text);
  }

  /** Calls back when another tab has changed it, with what it is now and was before. Returns how to stop. */
  whenChangedElsewhere(changed: (now: string, before: string) => void): () => void {
    return whenChangedElsewhere<string>(this.name, (now, before) => changed(now ?? this.starter, before ?? this.starter));
  }

  private get name(): string {
    return `draft:${this.slug}`;
  }
}
