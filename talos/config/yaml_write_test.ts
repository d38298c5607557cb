// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { parse } from "yaml";
import { JSON_PATCH_LAYOUT, PATCH_LAYOUT, writeYaml, type YamlValue } from "./yaml_write.ts";

const SCALARS: readonly (readonly [value: YamlValue, printed: string])[] = [
  ["plain", "plain"],
  ["", '""'],
  ["true", '"true"'],
  ["null", '"null"'],
  ["~", '"~"'],
  ["1e3", '"1e3"'],
  ["010", '"010"'],
  ["0x1f", '"0x1f"'],
  ["1_000", '"1_000"'],
  ["2026-01-02", '"2026-01-02"'],
  ["2026-13-02", "2026-13-02"],
  ["yes", "'yes'"],
  ["12:30:45", "'12:30:45'"],
  ["*", "'*'"],
  ["it's", "it's"],
  ["a: b", "'a: b'"],
  ["a #b", "'a #b'"],
  [" lead", "' lead'"],
  ["tab\there", '"tab\\there"'],
  ["\u0001", '"\\x01"'],
  ["ümlaut", "ümlaut"],
  ["😀", '"\\U0001F600"'],
  ["-", "'-'"],
  ["-x", "-x"],
  ["[a]", "'[a]'"],
  ["one\ntwo", "|-\n    one\n    two"],
  ["one\ntwo\n", "|\n    one\n    two"],
  [1.5, "1.5"],
  [123456.5, "123456.5"],
  [1234567.5, "1.2345675e+06"],
  [1234567, "1234567"],
  [1e21, "1e+21"],
  [true, "true"],
  [null, "null"],
  [[], "[]"],
  [{}, "{}"],
];

for (const [value, printed] of SCALARS) {
  Deno.test(`writeYaml() prints ${JSON.stringify(value)} as ${JSON.stringify(printed)}`, () => {
    const text = writeYaml({ k: value });
    assert.equal(text, `k: ${printed}\n`);
    assert.deepEqual(parse(text), { k: value });
  });
}

Deno.test("writeYaml() indents items by two and everything else to multiples of four", () => {
  const value = { a: [{ b: { c: [1, { d: "x" }] }, e: [] }] };
  const expected = `a:
    - b:
        c:
            - 1
            - d: x
      e: []
`;
  assert.equal(writeYaml(value), expected);
});

Deno.test("writeYaml() knows the layouts of patches", () => {
  const value = { a: [{ b: [1] }] };
  assert.equal(writeYaml(value, PATCH_LAYOUT), "a:\n  - b:\n      - 1\n");
  assert.equal(writeYaml(value, JSON_PATCH_LAYOUT), "a:\n- b:\n  - 1\n");
});
