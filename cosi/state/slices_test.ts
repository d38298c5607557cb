// SPDX-License-Identifier: AGPL-3.0-or-later

/** Long loops let others run, also when there are many of them. @module */

import assert from "node:assert/strict";
import { busy, countTurns } from "../../base/test_turns.ts";
import { inSlices, settingOff } from "./slices.ts";

/** Looks at 640 items, which takes 10 ms at least. */
function look(): Promise<number[]> {
  const items = Array.from({ length: 640 }, (_, at) => at);
  return inSlices(items, (item) => {
    if (item % 64 === 0) busy(1);
    return item % 2 === 0;
  });
}

Deno.test("inSlices() lets others run, and loses nothing", async () => {
  let found: number[] = [];
  const turns = await countTurns(async () => void (found = await look()));
  assert.equal(found.length, 320);
  // 10 ms in slices of 4 ms.
  assert.ok(turns >= 2, `${turns} turns`);
});

Deno.test("inSlices() shares one slice of a turn among all loops", async () => {
  const turns = await countTurns(() => Promise.all(Array.from({ length: 30 }, look)));
  // 300 ms of work, of which a turn takes 4 to 5 once all have begun with 1 ms each.
  assert.ok(turns >= 40, `${turns} turns`);
});

Deno.test("settingOff() lets those go on that it has told, and others when they take long", async () => {
  const waiting = Array.from({ length: 64 }, () => Promise.withResolvers<number>());
  const done: number[] = [];
  for (const { promise } of waiting) {
    void promise.then((at) => {
      busy(0.5);
      done.push(at);
    });
  }
  const turns = await countTurns(() =>
    settingOff([...waiting.entries()], ([at, { resolve }]) => resolve(at))
  );
  assert.deepEqual(done, Array.from(waiting.keys()));
  // 32 ms of work in slices of 4 ms, and groups of eight at once.
  assert.ok(turns >= 4, `${turns} turns`);
});
