// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Comparison of labels and of annotations.
 *
 * @module
 */

/** Whether two sets of labels or annotations are equal. Allocates nothing: every write asks. */
export function sameRecord(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean {
  if (a === b) return true;
  let count = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || a[key] !== b[key]) return false;
    count++;
  }
  for (const _ in b) count--;
  return count === 0;
}
