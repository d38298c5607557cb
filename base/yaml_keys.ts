// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The order in which go-yaml v4 writes the keys of a map.
 *
 * @module
 */

const LETTER = /\p{L}/u;
const DIGIT = /\p{Nd}/u;

function digitRun(runes: readonly string[], from: number): { value: bigint; length: number } {
  let end = from;
  while (end < runes.length && /^[0-9]$/.test(runes[end] ?? "")) end++;
  const text = runes.slice(from, end).join("");
  return { value: text === "" ? 0n : BigInt(text), length: end - from };
}

function startsInsideNumber(runes: readonly string[], at: number): boolean {
  for (let index = at - 1; index >= 0; index--) {
    const rune = runes[index] ?? "";
    if (!DIGIT.test(rune)) return false;
    if (rune !== "0") return true;
  }
  return false;
}

/** Compares two keys: letters by code point, numbers inside by their value. */
export function compareKeys(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  let digits = false;
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [x = "", y = ""] = [a[index], b[index]];
    if (x === y) {
      digits = DIGIT.test(x);
      continue;
    }
    const [xLetter, yLetter] = [LETTER.test(x), LETTER.test(y)];
    const byCode = (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0);
    if (xLetter && yLetter) return byCode;
    if (xLetter !== yLetter) return xLetter === digits ? -1 : 1;
    const [xRun, yRun] = [digitRun(a, index), digitRun(b, index)];
    // A zero inside a number is a digit of it, not the start of another one.
    const inside = (x === "0" || y === "0") && startsInsideNumber(a, index);
    const [xValue, yValue] = [numberAfter(inside, xRun), numberAfter(inside, yRun)];
    if (xValue !== yValue) return xValue < yValue ? -1 : 1;
    if (xRun.length !== yRun.length) return xRun.length - yRun.length;
    return byCode;
  }
  return a.length - b.length;
}

function numberAfter(insideNumber: boolean, run: { value: bigint; length: number }): bigint {
  return insideNumber ? 10n ** BigInt(run.length) + run.value : run.value;
}
