// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { huffmanDecode, huffmanEncode, huffmanLength } from "./huffman.ts";

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function decode(bytes: Uint8Array): string | undefined {
  const target = new Uint8Array(bytes.length * 2 + 1);
  const length = huffmanDecode(bytes, 0, bytes.length, target);
  return length < 0 ? undefined : String.fromCharCode(...target.subarray(0, length));
}

Deno.test("huffmanDecode() reads the examples of RFC 7541", () => {
  assert.equal(decode(fromHex("f1e3c2e5f23a6ba0ab90f4ff")), "www.example.com");
  assert.equal(decode(fromHex("a8eb10649cbf")), "no-cache");
  assert.equal(decode(fromHex("9d29ad171863c78f0b97c8e9ae82ae43d3")), "https://www.example.com");
});

Deno.test("huffmanEncode() and huffmanDecode() undo each other for every byte", () => {
  let all = "";
  for (let byte = 0; byte < 256; byte++) all += String.fromCharCode(byte);
  for (const text of ["", "a", all, all + all.slice(7), "/grpc.testing.TestService/EmptyCall"]) {
    const coded = new Uint8Array(huffmanLength(text));
    assert.equal(huffmanEncode(text, coded, 0), coded.length);
    assert.equal(decode(coded), text);
  }
});

Deno.test("huffmanDecode() refuses bad padding and the end-of-string symbol", () => {
  for (const hex of ["ff", "ffff", "1c", "18", "3fffffff", "ffffffff"]) {
    assert.equal(decode(fromHex(hex)), undefined, hex);
  }
  assert.equal(decode(fromHex("1f")), "a");
});
