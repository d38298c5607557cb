// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { blake2s as reference } from "@noble/hashes/blake2.js";
import { hkdf as referenceHkdf } from "@noble/hashes/hkdf.js";
import { secureRandom } from "../addresses.ts";
import { blake2s, hkdf, isKeyedBlake2s, keyedBlake2s } from "./blake2s.ts";

const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

Deno.test("blake2s() gives the value of RFC 7693 appendix B", () => {
  assert.equal(
    hex(blake2s(new TextEncoder().encode("abc"))),
    "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982",
  );
});

Deno.test("blake2s(), keyedBlake2s() and hkdf() agree with others for all lengths", () => {
  for (let size = 0; size <= 260; size++) {
    const message = secureRandom(size);
    const key = secureRandom(1 + size % 32);
    assert.equal(hex(blake2s(message)), createHash("blake2s256").update(message).digest("hex"));
    for (const length of [16, 32]) {
      assert.deepEqual(
        keyedBlake2s(key, message, length),
        reference(message, { key, dkLen: length }),
      );
    }
    const count = 1 + size % 3;
    assert.deepEqual(
      hkdf(key, message, count),
      referenceHkdf(reference, message, key, undefined, 32 * count),
    );
  }
});

Deno.test("isKeyedBlake2s() takes what keyedBlake2s() gives and nothing else", () => {
  const key = secureRandom(32);
  const message = secureRandom(116);
  for (const size of [16, 32]) {
    const expected = keyedBlake2s(key, message, size);
    assert.equal(isKeyedBlake2s(key, message, expected), true);
    for (let at = 0; at < size; at++) {
      const other = Uint8Array.from(expected);
      other[at] = (other[at] as number) ^ 1 << at % 8;
      assert.equal(isKeyedBlake2s(key, message, other), false);
    }
  }
});

Deno.test("blake2s() takes its message in pieces", () => {
  const message = secureRandom(200);
  for (let at = 0; at <= 200; at++) {
    assert.deepEqual(blake2s(message.subarray(0, at), message.subarray(at)), blake2s(message));
  }
});
