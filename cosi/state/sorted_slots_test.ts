// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { draft } from "./conformance.ts";
import { RawResource } from "./raw_resource.ts";
import { SortedSlots } from "./sorted_slots.ts";

const encoder = new TextEncoder();

/** The order of the bytes of UTF-8. */
function compareBytes(a: string, b: string): number {
  const [x, y] = [encoder.encode(a), encoder.encode(b)];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return x.length - y.length;
}

for (
  const [name, alphabet] of [["plain", "abc/-0"], ["any", "aé\u{FFFD}\u{1F600}\u{D7FF}"]] as const
) {
  Deno.test(`SortedSlots keeps ${name} IDs in the order of their bytes`, () => {
    let random = 7;
    const next = (below: number): number => {
      random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
      return random % below;
    };
    const letters = [...alphabet];
    const slots = new SortedSlots();
    const expected = new Set<string>();
    for (let step = 0; step < 6000; step++) {
      const id = Array.from({ length: 1 + next(6) }, () => letters[next(letters.length)]).join("");
      if (expected.delete(id)) slots.remove(id);
      else {
        expected.add(id);
        const { metadata, protoSpec } = draft(id);
        slots.insert({ id, resource: new RawResource(metadata, protoSpec) });
      }
      strictEqual(slots.size, expected.size);
    }
    const found = slots.toArray().map(({ metadata }) => metadata.id);
    deepStrictEqual(found, [...expected].sort(compareBytes));
  });
}

Deno.test("SortedSlots fills its chunks when IDs come in order", () => {
  const slots = new SortedSlots();
  const ids = Array.from({ length: 2000 }, (_, i) => `r${String(i).padStart(5, "0")}`);
  for (const id of ids) {
    const { metadata, protoSpec } = draft(id);
    slots.insert({ id, resource: new RawResource(metadata, protoSpec) });
  }
  deepStrictEqual(slots.toArray().map(({ metadata }) => metadata.id), ids);
  for (const id of ids) slots.remove(id);
  strictEqual(slots.size, 0);
  slots.remove("r00000");
  strictEqual(slots.size, 0);
});
