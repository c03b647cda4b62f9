/** All cases at a glance, a tile each; arrow keys go from one to the next. */
import type { Case } from "../api/types";
import { stepped } from "../shell/roving";
import { outcome } from "./outcomes";

interface Props {
  cases: readonly Case[];
  chosen: string | null;
  choose: (name: string) => void;
}

export function CaseGrid({ cases, chosen, choose }: Props) {
  const stop = chosen ?? cases[0]?.name;
  const move = (event: KeyboardEvent) => {
    const to = stepped(event.key, cases.findIndex((one) => one.name === stop), cases.length);
    const next = to === null ? undefined : cases[to];
    if (next === undefined) return;
    event.preventDefault();
    choose(next.name);
    document.getElementById(`case-${next.name}`)?.focus();
  };
  const groups = (["public", "hidden"] as const).map((visibility) => ({
    visibility,
    cases: cases.filter((one) => one.visibility === visibility),
  }));
  return (
    <div class="case-grid" role="group" aria-label="Cases" onKeyDown={move}>
      {groups.map(
        (group) =>
          group.cases.length > 0 && (
            <div key={group.visibility} class="group">
              <span class="heading">{group.visibility}</span>
              <ul>
                {group.cases.map((one) => (
                  <li key={one.name}>
                    <Tile one={one} pressed={one.name === chosen} stop={one.name === stop} choose={choose} />
                  </li>
                ))}
              </ul>
            </div>
          ),
      )}
    </div>
  );
}

interface TileProps {
  one: Case;
  pressed: boolean;
  stop: boolean;
  choose: (name: string) => void;
}

function Tile({ one, pressed, stop, choose }: TileProps) {
  const { label, kind, sign } = outcome(one.outcome);
  return (
    <button
      type="button"
      id={`case-${one.name}`}
      class={`tile ${kind}${one.indicative ? " indicative" : ""}`}
      aria-pressed={pressed}
      aria-label={`${one.name}: ${label}`}
      title={`${one.name}: ${label}`}
      tabIndex={stop ? 0 : -1}
      onClick={() => choose(one.name)}
    >
      {sign}
    </button>
  );
}
