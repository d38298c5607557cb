// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type ItemWait, WaitRegistry } from "./waits.ts";

const WAIT: ItemWait = {
  controller: "test.WaitController",
  type: "Sources.test",
  id: "a",
  state: "failing",
  reason: "no answer",
  blockers: [],
  attempts: 1,
  sinceMs: 1,
};

Deno.test("WaitRegistry keeps the time since when the reason is the same", () => {
  const waits = new WaitRegistry();
  waits.set(WAIT);
  waits.set({ ...WAIT, attempts: 2, sinceMs: 5 });
  deepStrictEqual(waits.find(WAIT.controller, "a"), { ...WAIT, attempts: 2 });
  waits.set({ ...WAIT, reason: "refused", sinceMs: 9 });
  strictEqual(waits.find(WAIT.controller, "a")?.sinceMs, 9);
});

Deno.test("WaitRegistry tells of every change, and only of changes", () => {
  const changes: string[] = [];
  const waits = new WaitRegistry((key) => void changes.push(key));
  waits.clear(WAIT.controller, "a");
  waits.set(WAIT);
  waits.set({ ...WAIT, sinceMs: 5 });
  waits.set({ ...WAIT, attempts: 2 });
  waits.clear(WAIT.controller, "a");
  waits.clear(WAIT.controller, "a");
  deepStrictEqual(changes, Array(3).fill("test.WaitController/a"));
  deepStrictEqual(waits.list(), []);
});
