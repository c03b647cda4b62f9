/** Yours over expected, element by element: the redder, the farther off; the worst one has a frame. */
import { useState } from "preact/hooks";
import type { Detail } from "../api/types";
import { stepped } from "../shell/roving";
import { distance, type Element, elementAt, indexOf, type Part, parts, shapeText, shown, type Tensor } from "./tensor";

interface Props {
  expected: Tensor;
  actual: Tensor;
  worst: Detail["worst"];
  passed: boolean;
}

type Index = readonly number[];

export function Comparison({ expected, actual, worst, passed }: Props) {
  const [looked, setLooked] = useState<Index | null>(null);
  const at = looked ?? worst?.index ?? null;
  const scale = passed ? 0 : Math.max(...parts(actual).flatMap((part) => errors(part, expected)).filter(Number.isFinite), 0);
  const heat = (yours: Element, theirs: Element | undefined) => (passed ? 0 : heatOf(distance(yours, theirs), scale));
  return (
    <div class="comparison">
      <p class="legend">
        <span>
          yours <small>over expected</small>
        </span>
        <code>{shapeText(expected.shape)}</code>
      </p>
      <div class="parts" onMouseLeave={() => setLooked(null)}>
        {parts(actual).map((part) => (
          <PartTable key={part.index.join()} part={part} expected={expected} worst={worst?.index ?? null} heat={heat} look={setLooked} />
        ))}
        {parts(actual).every((part) => part.rows.flat().length === 0) && <p class="stale">No elements.</p>}
      </div>
      {at && <Readout at={at} expected={expected} actual={actual} worst={worst} />}
    </div>
  );
}

function errors(part: Part, expected: Tensor): number[] {
  const dimensions = expected.shape.length;
  return part.rows.flatMap((row, r) => row.map((yours, c) => distance(yours, elementAt(expected, indexOf(part, r, c, dimensions)))));
}

/** From 0 to 1; the root lets small errors be seen beside large ones. */
function heatOf(error: number, scale: number): number {
  if (!Number.isFinite(error) || scale === 0) return error === 0 ? 0 : 1;
  const share = error / scale;
  return share < 1e-5 ? 0 : Math.max(0.06, Math.sqrt(share));
}

interface TableProps {
  part: Part;
  expected: Tensor;
  worst: Index | null;
  heat: (yours: Element, theirs: Element | undefined) => number;
  look: (index: Index) => void;
}

function PartTable({ part, expected, worst, heat, look }: TableProps) {
  const columns = part.rows[0]?.length ?? 0;
  const [stop, setStop] = useState(0);
  const move = (event: KeyboardEvent) => {
    const to = stepped(event.key, stop, columns * part.rows.length, columns);
    if (to === null) return;
    event.preventDefault();
    setStop(to);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("td")[to]?.focus();
  };
  return (
    <div class="scroller">
      {part.index.length > 0 && <span class="part">[{part.index.join(", ")}, :, :]</span>}
      <table role="grid" class="heat" aria-label={`Yours over expected ${part.index.join(", ")}`} onKeyDown={move}>
        <tbody>
          {part.rows.map((row, r) => (
            <tr key={r}>
              {row.map((yours, c) => {
                const index = indexOf(part, r, c, expected.shape.length);
                const theirs = elementAt(expected, index);
                const isWorst = worst !== null && worst.join() === index.join();
                return (
                  <td
                    key={c}
                    class={isWorst ? "worst" : ""}
                    style={{ "--heat": `${Math.round(70 * heat(yours, theirs))}%` }}
                    tabIndex={r * columns + c === stop ? 0 : -1}
                    onMouseEnter={() => look(index)}
                    onFocus={() => (look(index), setStop(r * columns + c))}
                  >
                    <Said text={`${isWorst ? "the worst, " : ""}yours `} />
                    {shown(yours)}
                    <small>
                      <Said text="expected " />
                      {shown(theirs)}
                    </small>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** For screen readers only. */
function Said({ text }: { text: string }) {
  return <span class="visually-hidden">{text}</span>;
}

function Readout({ at, expected, actual, worst }: { at: Index; expected: Tensor; actual: Tensor; worst: Props["worst"] }) {
  const isWorst = worst?.index.join() === at.join();
  const yours = elementAt(actual, at) ?? (isWorst ? (worst?.actual as Element) : undefined);
  const theirs = elementAt(expected, at) ?? (isWorst ? (worst?.expected as Element) : undefined);
  return (
    <p class="readout">
      <code>{shapeText(at)}</code>
      {isWorst && <span class="word bad">the worst</span>}
      <span>
        yours <b>{shown(yours, 7)}</b>
      </span>
      <span>
        expected <b>{shown(theirs, 7)}</b>
      </span>
      <span>
        off by <b>{shown(distance(yours, theirs), 3)}</b>
      </span>
      {isWorst && (
        <span>
          allowed <b>{shown(worst?.allowed as Element, 3)}</b>
        </span>
      )}
    </p>
  );
}
