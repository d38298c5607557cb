// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { labelsMatch } from "./label_query.ts";
import { parseSelector } from "./label_selector.ts";

const LABELS = { arch: "amd64", cores: "8", "omni.sidero.dev/connected": "", mem: "16Gi" };

const CASES: readonly (readonly [string, boolean])[] = [
  ["arch", true],
  ["!arch", false],
  ["! gpu", true],
  ["arch=amd64", true],
  ["arch == arm64", false],
  ["arch != arm64", true],
  ["arch in (arm64, amd64)", true],
  ["arch notin (arm64,amd64)", false],
  ["cores >= 8", true],
  ["cores>8", false],
  ["cores < 16,mem>=8Gi", true],
  ["gpu > 1", false],
  ["omni.sidero.dev/connected, arch in (amd64,arm64), cores<=8", true],
  ["omni.sidero.dev/connected=", true],
];

for (const [selector, expected] of CASES) {
  Deno.test(`parseSelector() reads "${selector}"`, () => {
    strictEqual(labelsMatch([parseSelector(selector)], LABELS), expected);
  });
}

Deno.test("parseSelector() names the term that it cannot read", () => {
  for (const selector of ["", "a=b,", "a=b=c", "a in b", "a b", "=a", "a in (b", "a<>b"]) {
    throws(() => parseSelector(selector), { code: "invalidArgument" }, selector);
  }
  deepStrictEqual(parseSelector("a=b").terms.length, 1);
});
