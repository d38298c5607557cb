// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { parseBytes, printScalar, readScalar } from "./scalars.ts";
import type { ScalarName } from "./schema.ts";
import { RawScalar } from "./yaml_write.ts";

function read(name: ScalarName, text: string, isPlain = true) {
  return readScalar(name, { kind: "scalar", offset: 0, text, isPlain, tag: undefined });
}

const READ: readonly (readonly [name: ScalarName, text: string, value: unknown])[] = [
  ["str", "1", "1"],
  ["str", "null", ""],
  ["bool", "on", true],
  ["bool", "n", false],
  ["int", "0x10", 16],
  ["int", "1_000", 1000],
  ["int", "1e3", 1000],
  ["int", "9223372036854775807", 9223372036854775807n],
  ["octal", "0o600", 0o600],
  ["octal", "0600", 0o600],
  ["addr", "FD00::0001", "fd00::1"],
  ["addr", "::ffff:10.0.0.1", "::ffff:10.0.0.1"],
  ["addr", "fe80::1%eth0", "fe80::1%eth0"],
  ["prefix", "10.0.0.0/8", "10.0.0.0/8"],
  ["addrPort", "[fd00::0:1]:80", "[fd00::1]:80"],
  ["duration", "90m", "1h30m0s"],
  ["duration", "1000000000", "1s"],
  ["mac", "00-11-22-AA-bb-CC", "00:11:22:aa:bb:cc"],
  ["portRange", "80-80", 80],
  ["portRange", "80-90", "80-90"],
  ["diskSize", "10 GB", 10_000_000_000],
  ["diskMatcher", " >= 10GiB ", ">= 10GiB"],
  ["size", "50%", "50%"],
  ["base64", "YQ==", "YQ=="],
  ["any", "1.5", 1.5],
  ["any", "0b11", 3],
  ["any", "no", "no"],
];

for (const [name, text, value] of READ) {
  Deno.test(`readScalar() reads ${name} "${text}"`, () => {
    assert.deepEqual(read(name, text), value);
  });
}

const REFUSED: readonly (readonly [name: ScalarName, text: string])[] = [
  ["bool", "maybe"],
  ["int", "1.5"],
  ["uint", "-1"],
  ["uint8", "256"],
  ["addr", "10.0.0.256"],
  ["addr", "1.2.3"],
  ["prefix", "10.0.0.0/33"],
  ["addrPort", "10.0.0.1:70000"],
  ["base64", "YQ="],
  ["byteSize", "10XB"],
  ["percentage", "101%"],
  ["duration", "1 hour"],
  ["mac", "zz:00"],
  ["portRange", "80-"],
  ["url", "https://[::1"],
  ["routingTable", "300"],
];

for (const [name, text] of REFUSED) {
  Deno.test(`readScalar() refuses ${name} "${text}"`, () => {
    assert.throws(() => read(name, text), RangeError);
  });
}

Deno.test("readScalar() takes a quoted number for a text", () => {
  assert.equal(read("any", "1", false), "1");
  assert.throws(() => read("int", "1", false), RangeError);
});

Deno.test("printScalar() prints file modes in octal and round sizes in words", () => {
  assert.deepEqual(printScalar("octal", 0o644), new RawScalar("0o644"));
  assert.equal(printScalar("diskSize", 10_000_000_000), "10 GB");
  assert.equal(printScalar("diskSize", 10_000_000_001), 10_000_000_001);
});

Deno.test("parseBytes() knows decimal and binary units", () => {
  assert.equal(parseBytes("1.5KiB"), 1536);
  assert.equal(parseBytes("2 tb"), 2e12);
  assert.equal(parseBytes("1,000"), 1000);
});
