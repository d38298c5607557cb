// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { nodeStyle, valueStyle, writeFloat, writeScalar } from "./yaml_scalar.ts";

Deno.test("valueStyle() quotes what a reader would take for another type", () => {
  const styleOf = (text: string) => valueStyle(text, "single");
  for (const text of ["", "true", "~", "12", "0x1f", "1_000", ".5", "-.inf", "2001-01-01"]) {
    assert.equal(styleOf(text), "double", text);
  }
  // Go's reader lets an offset of 60 minutes pass, but none of 61.
  assert.equal(styleOf("2001-01-01T10:00:00+01:60"), "double");
  assert.equal(styleOf("2001-01-01T10:00:00+01:61"), "plain");
  assert.equal(styleOf("2001-02-29"), "plain");
  assert.equal(styleOf("18446744073709551615"), "double");
  assert.equal(styleOf("1e999"), "plain");
  for (const text of ["yes", "Off", "1:30"]) {
    assert.equal(styleOf(text), "single", text);
    assert.equal(valueStyle(text, "double"), "double", text);
    assert.equal(nodeStyle(text), "plain", text);
  }
  assert.equal(styleOf("two\nlines"), "literal");
  assert.equal(styleOf(" \n "), "double");
});

Deno.test("writeScalar() falls back to a style that the text allows", () => {
  const write = (text: string, style: Parameters<typeof writeScalar>[1]) =>
    writeScalar(text, style, 4).text;
  assert.equal(write("a: b", "plain"), "'a: b'");
  assert.equal(write("it's\ta", "single"), '"it\'s\\ta"');
  assert.equal(write("a\n\n b", "literal"), "|-\n    a\n\n     b\n");
  assert.equal(write("a \nb", "literal"), '"a \\nb"');
  assert.equal(write("a\n\n", "literal"), "|+\n    a\n\n");
  assert.equal(write("\u0085\u{1f600}\0", "double"), '"\\N\\U0001F600\\0"');
});

Deno.test("writeFloat() writes an exponent from the given power on", () => {
  assert.equal(writeFloat(1234567.5, 6), "1.2345675e+06");
  assert.equal(writeFloat(1234567.5, 21), "1234567.5");
  assert.equal(writeFloat(0.00001, 6), "1e-05");
  assert.equal(writeFloat(-0, 6), "-0");
  assert.equal(writeFloat(-Infinity, 6), "-.inf");
});
