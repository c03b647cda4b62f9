/** Tensors as records have them: dtype, shape, values in nested lists, with strings for what JSON has no number for. */

export type Element = number | string | boolean;

export interface Tensor {
  dtype: string;
  shape: readonly number[];
  /** null where only the description is known. */
  values: unknown;
  truncated: boolean;
}

/** One two-dimensional part; `index` says which in the leading dimensions. */
export interface Part {
  index: readonly number[];
  rows: readonly (readonly Element[])[];
}

export function asTensor(value: unknown): Tensor | null {
  return typeof value === "object" && value !== null && "dtype" in value && "shape" in value ? (value as Tensor) : null;
}

/** All shown elements as matrices: a vector is one row, a scalar one element. */
export function parts({ values, shape }: Tensor): Part[] {
  if (values === null || values === undefined) return [];
  return partsOf(values, shape.length, []);
}

function partsOf(values: unknown, dimensions: number, index: readonly number[]): Part[] {
  if (dimensions === 0) return [{ index, rows: [[values as Element]] }];
  if (dimensions === 1) return [{ index, rows: [values as Element[]] }];
  if (dimensions === 2) return [{ index, rows: values as Element[][] }];
  return (values as unknown[]).flatMap((part, at) => partsOf(part, dimensions - 1, [...index, at]));
}

/** The whole index of an element of a part. */
export function indexOf({ index }: Part, row: number, column: number, dimensions: number): readonly number[] {
  return [...index, row, column].slice(dimensions < 2 ? 2 - dimensions : 0);
}

export function elementAt(tensor: Tensor, index: readonly number[]): Element | undefined {
  let found: unknown = tensor.values;
  for (const at of index) found = Array.isArray(found) ? found[at] : undefined;
  return found as Element | undefined;
}

const SPECIAL: Partial<Record<string, string>> = { NaN: "nan", Infinity: "inf", "-Infinity": "-inf" };

/** About five significant digits, as torch prints numbers. */
export function shown(element: Element | undefined, digits = 5): string {
  if (element === undefined) return "";
  if (typeof element !== "number") return SPECIAL[String(element)] ?? String(element);
  if (Object.is(element, -0)) return "-0";
  if (Number.isInteger(element) && Math.abs(element) < 1e6) return String(element);
  const size = Math.abs(element);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return element.toExponential(digits - 2).replace(/\.?0+e/, "e");
  return String(Number(element.toPrecision(digits)));
}

export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}

/** How far apart two elements are; infinite where only one of them is a number. */
export function distance(a: Element | undefined, b: Element | undefined): number {
  if (a === b) return 0;
  return typeof a === "number" && typeof b === "number" ? Math.abs(a - b) : Number.POSITIVE_INFINITY;
}
