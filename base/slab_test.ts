// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { Slab } from "./slab.ts";

Deno.test("pieces of a slab do not overlap, whatever their lengths", () => {
  const slab = new Slab();
  const pieces = Array.from({ length: 500 }, (_, index) => {
    const piece = slab.take(index * 7 % 2500);
    deepStrictEqual(piece, new Uint8Array(index * 7 % 2500));
    return piece.fill(index);
  });
  for (const [index, piece] of pieces.entries()) {
    deepStrictEqual(piece, new Uint8Array(index * 7 % 2500).fill(index));
  }
});

Deno.test("short pieces share memory, long ones have their own", () => {
  const slab = new Slab();
  strictEqual(slab.take(100).buffer, slab.take(2048).buffer);
  const long = slab.take(2049);
  strictEqual(long.buffer.byteLength, 2049);
  notStrictEqual(long.buffer, slab.take(1).buffer);
});

Deno.test("copy() takes what was asked for, and no view on it", () => {
  const source = Uint8Array.from({ length: 3000 }, (_, index) => index);
  const slab = new Slab();
  for (const [start, end] of [[0, 0], [5, 9], [100, 2148], [0, 3000]] as const) {
    const copy = slab.copy(source, start, end);
    deepStrictEqual(copy, source.slice(start, end));
    notStrictEqual(copy.buffer, source.buffer);
  }
});
