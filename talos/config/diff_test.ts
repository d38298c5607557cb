// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { diffTexts, diffWithHeader, MAX_DIFF_LINES } from "./diff.ts";
import { applyPatches } from "./patch.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "./testing.ts";

Deno.test("diffTexts() is empty for equal texts", () => {
  assert.equal(diffTexts("a\n", "a\n"), "");
  assert.equal(diffWithHeader("a\n", "a\n"), "");
});

Deno.test("diffTexts() shows three lines of context", () => {
  const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
  assert.equal(
    diffTexts(before, before.replace("5", "five")),
    "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
  );
});

Deno.test("diffTexts() gives up on what is too large", () => {
  const text = "a\n".repeat(MAX_DIFF_LINES);
  assert.equal(
    diffTexts(text, text + "b\n"),
    `@@ -1,${MAX_DIFF_LINES} +1,${MAX_DIFF_LINES + 1} @@ diff too large to display\n`,
  );
});

Deno.test({
  name: `diffTexts() tells the golden configurations apart${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    const [before, after] = ["original", "modified"].map((name) =>
      applyPatches(readGolden(`talos/configdiff/${name}.yaml`), ["machine: {}"])
    );
    const lines = diffTexts(before ?? "", after ?? "").split("\n");
    const kept = (sign: string) =>
      lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
    for (const line of kept("-")) assert.ok(before?.includes(line), line);
    for (const line of kept("+")) assert.ok(after?.includes(line), line);
    assert.ok(kept("+").length > 0);
  },
});
