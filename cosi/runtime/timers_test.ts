// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Clock } from "../../base/clock.ts";
import { Timers } from "./timers.ts";

/** A clock that moves when the test says so, and counts the sleeps on it. */
function fakeClock() {
  let nowMs = 0;
  const sleepers = new Set<{ readonly atMs: number; readonly wake: () => void }>();
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          sleepers.delete(sleeper);
          resolve();
        };
        const sleeper = { atMs: nowMs + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", wake);
      }),
  };
  return {
    clock,
    sleeping: () => sleepers.size,
    async advance(ms: number): Promise<void> {
      nowMs += ms;
      for (const { atMs, wake } of [...sleepers]) if (atMs <= nowMs) wake();
      for (let i = 0; i < 10; i++) await Promise.resolve();
    },
  };
}

Deno.test("Timers run in the order of their times on one sleep", async () => {
  const { clock, sleeping, advance } = fakeClock();
  const timers = new Timers(clock);
  const fired: string[] = [];
  for (const [name, ms] of [["d", 40], ["a", 10], ["c", 30], ["b", 10]] as const) {
    timers.after(ms, () => void fired.push(name));
  }
  await advance(0);
  strictEqual(sleeping(), 1);
  await advance(10);
  deepStrictEqual(fired, ["a", "b"]);
  await advance(100);
  deepStrictEqual(fired, ["a", "b", "c", "d"]);
  strictEqual(sleeping(), 0);
  await timers.close();
});

Deno.test("Timers do not run what was cancelled, and keep no memory of it", async () => {
  const { clock, advance } = fakeClock();
  const timers = new Timers(clock);
  const fired: number[] = [];
  for (let i = 0; i < 10_000; i++) {
    const timer = timers.after(1_000 + i, () => void fired.push(i));
    if (i % 1_000 !== 0) timer.cancel();
  }
  strictEqual(timers.size < 5_000, true);
  await advance(20_000);
  strictEqual(fired.length, 10);
  deepStrictEqual(fired, [...fired].sort((a, b) => a - b));
  await timers.close();
});

Deno.test("Timers.close() drops everything and leaves no sleep behind", async () => {
  const { clock, sleeping, advance } = fakeClock();
  const timers = new Timers(clock);
  let fired = false;
  timers.after(10, () => void (fired = true));
  await timers.close();
  timers.after(5, () => void (fired = true));
  await advance(100);
  strictEqual(fired, false);
  strictEqual(sleeping(), 0);
});
