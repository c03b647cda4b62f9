/** One stop for the Tab key among many things, and arrow keys from one to the next. */

const STEPS: Partial<Record<string, (columns: number) => number>> = {
  ArrowRight: () => 1,
  ArrowLeft: () => -1,
  ArrowDown: (columns) => columns,
  ArrowUp: (columns) => -columns,
  Home: () => Number.NEGATIVE_INFINITY,
  End: () => Number.POSITIVE_INFINITY,
};

/** Where an arrow key leads from item `at` of `count`, in rows of `columns`; null for other keys and beyond the ends. */
export function stepped(key: string, at: number, count: number, columns = 1): number | null {
  const step = STEPS[key]?.(columns);
  if (step === undefined) return null;
  if (!Number.isFinite(step)) return step < 0 ? 0 : count - 1;
  const to = at + step;
  return to >= 0 && to < count ? to : null;
}
