// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { seededRandom } from "./testing.ts";
import { virtualClock } from "./testing_network.ts";
import { NEVER, type Timer, TimerQueue } from "./timers.ts";

Deno.test("TimerQueue fires in order, whatever was set, moved and cleared before", async () => {
  const clock = virtualClock(0);
  const queue = new TimerQueue(clock);
  const random = seededRandom(5);
  const fired: { readonly timer: Timer; readonly atMs: number }[] = [];
  const expected = new Map<Timer, number>();
  for (let i = 0; i < 500; i++) {
    const timer: Timer = queue.create((nowMs) => fired.push({ timer, atMs: nowMs }));
    for (let moves = 0; moves < 4; moves++) {
      const atMs = Math.floor(random() * 10_000) + 1;
      timer.set(atMs);
      expected.set(timer, atMs);
    }
    if (random() < 0.2) {
      timer.clear();
      expected.delete(timer);
    }
  }
  await clock.pass(20_000);
  assert.equal(fired.length, expected.size);
  for (const { timer, atMs } of fired) assert.equal(atMs, expected.get(timer));
  assert.deepEqual(
    fired.map(({ atMs }) => atMs),
    fired.map(({ atMs }) => atMs).sort((a, b) => a - b),
  );
  assert.equal(queue.size, 0);
  queue.close();
});

Deno.test("TimerQueue lets go of a timer that sets itself for the same moment", async () => {
  const clock = virtualClock(0);
  const queue = new TimerQueue(clock);
  let count = 0;
  const timer: Timer = queue.create((nowMs) => {
    if (count++ < 5) timer.set(nowMs);
  });
  timer.set(10);
  await clock.pass(100);
  assert.equal(count, 6);
  assert.equal(timer.atMs, NEVER);
  queue.close();
});

Deno.test("TimerQueue fires nothing after close()", async () => {
  const clock = virtualClock(0);
  const queue = new TimerQueue(clock);
  const timer = queue.create(() => assert.fail("It is closed"));
  timer.set(10);
  queue.close();
  timer.set(5);
  await clock.pass(100);
});
