// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { TimerWheel } from "./timer_wheel.ts";

Deno.test("TimerWheel fires in order, never early, and stops when it is empty", async () => {
  const wheel = new TimerWheel(1);
  const start = performance.now();
  const fired: number[] = [];
  await Promise.all([30, 5, 300, 0].map((delay) =>
    new Promise<void>((resolve) => {
      wheel.schedule(delay, () => {
        assert.ok(performance.now() - start >= delay);
        fired.push(delay);
        resolve();
      });
    })
  ));
  assert.deepEqual(fired, [0, 5, 30, 300]);
});

Deno.test("TimerWheel does not fire what was cancelled, by a neighbour either", async () => {
  const wheel = new TimerWheel(1);
  const fired: string[] = [];
  await new Promise<void>((resolve) => {
    const first = wheel.schedule(5, () => void fired.push("first"));
    const second = wheel.schedule(5, () => {
      fired.push("second");
      first.cancel();
      third.cancel();
    });
    const third = wheel.schedule(5, () => {
      fired.push("third");
      second.cancel();
    });
    wheel.schedule(20, resolve);
    first.cancel();
    first.cancel();
  });
  assert.equal(fired.length, 1);
});

Deno.test("TimerWheel stops with its last timer unless it is retained", () => {
  const wheel = new TimerWheel(1);
  wheel.schedule(1000, () => {}).cancel();
  wheel.retain();
  wheel.schedule(1000, () => {}).cancel();
  // The test's own check for leaks would find the interval without this.
  wheel.release();
});
