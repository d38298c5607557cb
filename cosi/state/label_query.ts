// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Selection of resources by their labels.
 *
 * @module
 */

/** How a term compares a label; the names are those of the wire. */
export type LabelOp = "exists" | "equal" | "in" | "lt" | "lte" | "ltNumeric" | "lteNumeric";

/** One condition on one label. */
export interface LabelTerm {
  readonly key: string;
  readonly op: LabelOp;
  readonly values: readonly string[];
  readonly invert: boolean;
}

/** Terms that must all hold. */
export interface LabelQuery {
  readonly terms: readonly LabelTerm[];
}

/** The value of a label, or `undefined`; names such as `constructor` are labels like others. */
function labelOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ["pi", 2 ** 50],
  ["ti", 2 ** 40],
  ["gi", 2 ** 30],
  ["mi", 2 ** 20],
  ["ki", 2 ** 10],
  ["p", 1e15],
  ["t", 1e12],
  ["g", 1e9],
  ["m", 1e6],
  ["k", 1e3],
]);

/**
 * Reads a number with an optional unit: `10ki` is 10,240; of other units only the first letter
 * counts, so that `10kg` is 10,000. Returns `undefined` for what is no number.
 */
function parseQuantity(text: string): bigint | undefined {
  const trimmed = text.trim();
  const digits = /^[0-9-]*/.exec(trimmed)?.[0] ?? "";
  if (!/^-?[0-9]+$/.test(digits)) return undefined;
  const unit = trimmed.slice(digits.length).trim().toLowerCase();
  const value = BigInt(digits);
  if (value !== BigInt.asIntN(64, value)) return undefined;
  if (unit === "") return value;
  const scale = UNITS.get(unit.slice(0, 2)) ?? UNITS.get(unit.slice(0, 1));
  return scale === undefined ? undefined : value * BigInt(scale);
}

/** UTF-8 order of two strings, which is the order of their code points. */
export function compareCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    let x = a.charCodeAt(i);
    let y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above all others, although their units are smaller than some.
    if (x >= 0xd800 && y >= 0xd800) {
      x = x >= 0xe000 ? x - 0x800 : x + 0x2000;
      y = y >= 0xe000 ? y - 0x800 : y + 0x2000;
    }
    return x - y;
  }
  return a.length - b.length;
}

function compares(term: LabelTerm, value: string): boolean | undefined {
  const bound = term.values[0];
  if (bound === undefined) return undefined;
  if (term.op === "lt") return compareCodePoints(value, bound) < 0;
  if (term.op === "lte") return compareCodePoints(value, bound) <= 0;
  const left = parseQuantity(value);
  const right = parseQuantity(bound);
  if (left === undefined || right === undefined) return undefined;
  return term.op === "ltNumeric" ? left < right : left <= right;
}

/** Whether one term holds for a set of labels. */
function termMatches(term: LabelTerm, labels: Readonly<Record<string, string>>): boolean {
  const value = labelOf(labels, term.key);
  switch (term.op) {
    case "exists":
      return (value !== undefined) !== term.invert;
    case "equal":
      return (value !== undefined && value === term.values[0]) !== term.invert;
    case "in":
      return (value !== undefined && term.values.includes(value)) !== term.invert;
    default: {
      // What cannot be compared never matches, not even inverted.
      const holds = value === undefined ? undefined : compares(term, value);
      return holds === undefined ? false : holds !== term.invert;
    }
  }
}

/** Whether any of the queries holds; no query at all, or one without terms, matches everything. */
export function labelsMatch(
  queries: readonly LabelQuery[],
  labels: Readonly<Record<string, string>>,
): boolean {
  if (queries.length === 0) return true;
  return queries.some(({ terms }) => terms.every((term) => termMatches(term, labels)));
}
