// SPDX-License-Identifier: AGPL-3.0-or-later

/** The table against the runtime's own map. @module */

import assert from "node:assert/strict";
import { StringTable } from "./string_table.ts";

Deno.test("StringTable keeps what it is given under any string", () => {
  const table = new StringTable<number>();
  const keys = [
    "",
    "a",
    "b",
    "ab",
    "ba",
    "__proto__",
    "constructor",
    "\ud83d\ude00",
    "ä",
    "0",
    "\0",
  ];
  for (const [i, key] of keys.entries()) table.set(key, i);
  assert.deepEqual(keys.map((key) => table.get(key)), keys.map((_, i) => i));
  assert.equal(table.size, keys.length);
  assert.equal(table.get("c"), undefined);
  assert.equal(table.delete("c"), false);
  table.set("a", 100);
  assert.equal(table.get("a"), 100);
  assert.equal(table.size, keys.length);
});

Deno.test("StringTable does what a Map does, whatever is set and deleted", () => {
  const table = new StringTable<number>();
  const model = new Map<string, number>();
  // Grows, shrinks to nothing and grows again; few keys, so that they are met again.
  for (const [steps, deletes] of [[3000, 2], [6000, 8], [500, 10], [3000, 5]] as const) {
    for (let step = 0; step < steps; step++) {
      const key = `key-${(step * step + 31 * step) % 1999}`;
      if ((7 * step) % 10 < deletes) assert.equal(table.delete(key), model.delete(key), key);
      else {
        table.set(key, step);
        model.set(key, step);
      }
      assert.equal(table.size, model.size);
    }
    for (let i = 0; i < 1999; i++) {
      assert.equal(table.get(`key-${i}`), model.get(`key-${i}`), `key-${i}`);
    }
    const byNumber = (a: number, b: number): number => a - b;
    assert.deepEqual([...table.values()].sort(byNumber), [...model.values()].sort(byNumber));
  }
});

Deno.test("StringTable finds keys that differ in one place only", () => {
  const table = new StringTable<string>();
  const keys = Array.from(
    { length: 50_000 },
    (_, i) => `machine-${i.toString(16).padStart(8, "0")}`,
  );
  for (const key of keys) table.set(key, key);
  assert.ok(keys.every((key) => table.get(key) === key));
});
