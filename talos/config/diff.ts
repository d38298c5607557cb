// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Unified differences between two configurations.
 *
 * @module
 */

import { structuredPatch } from "diff";

/** Above this many lines in both texts together no difference is computed. */
export const MAX_DIFF_LINES = 75_000;

/** Above this many characters in both texts together no difference is computed. */
const MAX_DIFF_LENGTH = 512 << 10;

/** Longest time that a comparison may keep the thread busy. */
const MAX_DIFF_TIME_MS = 200;

/**
 * Compares two texts line by line, with three lines of context and no header lines. Equal texts
 * give an empty text; texts that are too large or too different give one line that says so.
 */
export function diffTexts(before: string, after: string): string {
  if (before === after) return "";
  const [old, young] = [countLines(before), countLines(after)];
  const tooLarge = `@@ -1,${old} +1,${young} @@ diff too large to display\n`;
  if (old + young > MAX_DIFF_LINES || before.length + after.length > MAX_DIFF_LENGTH) {
    return tooLarge;
  }
  const patch = structuredPatch("a", "b", before, after, undefined, undefined, {
    context: 3,
    timeout: MAX_DIFF_TIME_MS,
  });
  if (patch === undefined) return tooLarge;
  return patch.hunks.map((hunk) => {
    const head = `@@ -${range(hunk.oldStart, hunk.oldLines)} +${
      range(hunk.newStart, hunk.newLines)
    } @@`;
    return `${head}\n${hunk.lines.map((line) => `${line}\n`).join("")}`;
  }).join("");
}

/** The difference with the two header lines of a patch; empty for equal texts. */
export function diffWithHeader(before: string, after: string): string {
  const difference = diffTexts(before, after);
  return difference === "" ? "" : `--- a\n+++ b\n${difference}`;
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

function range(start: number, lines: number): string {
  return lines === 1 ? `${start}` : `${start},${lines}`;
}
