/** A bar between two panes that can be dragged, or moved with the arrow keys; the browser remembers where it was put. */
import { useRef, useState } from "preact/hooks";
import { recall, remember } from "./storage";

const STEP = 2;
const LEAST = 20;
const MOST = 80;

interface Props {
  /** "vertical": the bar stands, and panes lie side by side. */
  orientation: "vertical" | "horizontal";
  label: string;
  share: number;
  moved: (share: number) => void;
}

/** The share of the first pane in per cent, and how to change it. */
export function useShare(name: string, initial: number): [number, (share: number) => void] {
  const [share, setShare] = useState(() => recall<number>(`split:${name}`) ?? initial);
  const move = (to: number) => {
    const kept = Math.round(Math.min(MOST, Math.max(LEAST, to)) * 10) / 10;
    setShare(kept);
    remember(`split:${name}`, kept);
  };
  return [share, move];
}

export function Split({ orientation, label, share, moved }: Props) {
  const bar = useRef<HTMLDivElement>(null);
  const drag = (event: PointerEvent) => {
    const pane = bar.current?.parentElement?.getBoundingClientRect();
    if (pane === undefined || !bar.current?.hasPointerCapture(event.pointerId)) return;
    moved(orientation === "vertical" ? (100 * (event.clientX - pane.left)) / pane.width : (100 * (event.clientY - pane.top)) / pane.height);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    moved(share + step);
  };
  return (
    // a separator that can be focused is a widget: https://www.w3.org/TR/wai-aria-1.2/#separator
    <div
      ref={bar}
      class={`split ${orientation}`}
      role="separator"
      aria-orientation={orientation}
      aria-label={label}
      aria-valuenow={Math.round(share)}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      onKeyDown={press}
      onPointerDown={(event) => {
        event.preventDefault();
        bar.current?.setPointerCapture(event.pointerId);
      }}
      onPointerMove={drag}
    />
  );
}
