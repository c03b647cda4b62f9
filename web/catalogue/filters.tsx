/** Search, difficulty, progress, tags. */
import type { Difficulty } from "../api/types";
import type { Filter } from "./filter";

interface Props {
  filter: Filter;
  change: (filter: Filter) => void;
  tags: readonly string[];
}

const DIFFICULTIES: readonly Difficulty[] = ["easy", "medium", "hard"];

export function Filters({ filter, change, tags }: Props) {
  const set = (part: Partial<Filter>) => change({ ...filter, ...part });
  return (
    <search class="filters">
      <input
        type="search"
        aria-label="Search problems"
        placeholder="Search"
        value={filter.words}
        onInput={(event) => set({ words: event.currentTarget.value })}
      />
      <label class="choice">
        <span>Difficulty</span>
        <select
          value={filter.difficulty ?? ""}
          onChange={(event) => set({ difficulty: (event.currentTarget.value || null) as Difficulty | null })}
        >
          <option value="">any</option>
          {DIFFICULTIES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label class="choice">
        <span>Show</span>
        <select
          value={filter.progress}
          onChange={(event) => set({ progress: event.currentTarget.value as Filter["progress"] })}
        >
          <option value="all">all</option>
          <option value="unsolved">not solved yet</option>
          <option value="solved">solved</option>
        </select>
      </label>
      <div class="chips" role="group" aria-label="Tags">
        {tags.map((tag) => (
          <button
            key={tag}
            type="button"
            aria-pressed={filter.tag === tag}
            onClick={() => set({ tag: filter.tag === tag ? null : tag })}
          >
            {tag}
          </button>
        ))}
      </div>
    </search>
  );
}
