// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { systemClock } from "../../base/clock.ts";
import { Pacer } from "./pacer.ts";
import { Timers } from "./timers.ts";
import { WorkQueue } from "./work_queue.ts";

/** A queue whose items wait until the test lets them go. */
function startQueue(concurrency = 1, delayMs?: number) {
  const timers = new Timers(systemClock);
  const begun: string[] = [];
  const gates: (() => void)[] = [];
  const faults: unknown[] = [];
  const queue = new WorkQueue({
    concurrency,
    timers,
    pacer: new Pacer(),
    onFault: (error) => void faults.push(error),
    run: async (key) => {
      begun.push(key);
      if (key === "faulty") throw new Error("fault");
      await new Promise<void>((resolve) => void gates.push(resolve));
      return delayMs;
    },
  });
  queue.start();
  return {
    queue,
    begun,
    faults,
    finishOne: async () => {
      gates.shift()?.();
      await turn();
    },
    close: async () => {
      const closing = queue.close();
      for (const gate of gates) gate();
      await closing;
      await timers.close();
    },
  };
}

async function turn(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

Deno.test("WorkQueue holds each key once, first in, first out", async () => {
  const { queue, begun, finishOne, close } = startQueue();
  for (const key of ["a", "b", "a", "c", "b"]) queue.add(key);
  await turn();
  for (let i = 0; i < 3; i++) await finishOne();
  deepStrictEqual(begun, ["a", "b", "c"]);
  strictEqual(queue.isIdle, true);
  await close();
});

Deno.test("WorkQueue repeats a key that was added while it was in work, once", async () => {
  const { queue, begun, finishOne, close } = startQueue(2);
  queue.add("a");
  await turn();
  queue.add("a");
  queue.add("a");
  await turn();
  deepStrictEqual(begun, ["a"]);
  await finishOne();
  await finishOne();
  await finishOne();
  deepStrictEqual(begun, ["a", "a"]);
  await close();
});

Deno.test("WorkQueue lets keys of a resync wait for all others", async () => {
  const { queue, begun, finishOne, close } = startQueue();
  queue.add("x", true);
  queue.add("y", true);
  queue.add("a");
  queue.add("y");
  await turn();
  for (let i = 0; i < 3; i++) await finishOne();
  deepStrictEqual(begun, ["a", "y", "x"]);
  await close();
});

Deno.test("WorkQueue takes a key that was moved forward only once", async () => {
  const { queue, begun, finishOne, close } = startQueue();
  for (const key of ["x", "y", "z"]) queue.add(key, true);
  queue.add("y");
  queue.add("x", true);
  await turn();
  for (let i = 0; i < 4; i++) await finishOne();
  deepStrictEqual(begun, ["y", "x", "z"]);
  queue.add("y", true);
  await turn();
  await finishOne();
  deepStrictEqual(begun, ["y", "x", "z", "y"]);
  strictEqual(queue.depth, 0);
  await close();
});

Deno.test("WorkQueue forgets the delay of a key that is added", async () => {
  const { queue, begun, finishOne, close } = startQueue(1, 3_600_000);
  queue.add("a");
  await turn();
  await finishOne();
  strictEqual(queue.isIdle, true);
  queue.add("a");
  await turn();
  deepStrictEqual(begun, ["a", "a"]);
  await close();
});

Deno.test("WorkQueue tells a fault and goes on", async () => {
  const { queue, begun, faults, close } = startQueue();
  queue.add("faulty");
  queue.add("b");
  await turn();
  deepStrictEqual(begun, ["faulty", "b"]);
  strictEqual(faults.length, 1);
  await close();
});

Deno.test("WorkQueue.close() waits for what is in work and drops the rest", async () => {
  const { queue, begun, close } = startQueue();
  queue.add("a");
  queue.add("b");
  await turn();
  await close();
  queue.add("c");
  await turn();
  deepStrictEqual(begun, ["a"]);
});
