/** How long ago something was, in words. */

const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "long" });
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

export function ago(when: string, now = Date.now()): string {
  const seconds = (now - Date.parse(when)) / 1000;
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? [null, 1];
  return unit === null ? "just now" : words.format(-Math.floor(seconds / size), unit);
}
