// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Long loops in slices, so that nothing else on the thread waits for them.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { loopTurn } from "../../base/turn.ts";

/** A slice's length in milliseconds: well below the 20 ms that the main thread may be blocked. */
const SLICE_MS = 4;

/** Steps between two looks at the clock. */
const STRIDE = 64;

/** When the slice of the present turn of the event loop is over; 0 when nobody has begun it. */
let sliceEndMs = 0;

function beginSlice(): number {
  sliceEndMs = performance.now() + SLICE_MS;
  setImmediate(() => void (sliceEndMs = 0));
  return sliceEndMs;
}

/** Loops that wait to go on: they share one slice of each turn. */
const waiting: (() => void)[] = [];
let isResuming = false;

function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (!isResuming) void resume();
  });
}

async function resume(): Promise<void> {
  isResuming = true;
  while (waiting.length > 0) {
    await loopTurn();
    const endMs = beginSlice();
    do {
      waiting.shift()?.();
      // The loop goes on before this does.
      await undefined;
    } while (waiting.length > 0 && performance.now() < endMs);
  }
  isResuming = false;
}

/** Tells a loop when to let others run. */
export class Slicer {
  #steps = 0;
  #endMs = sliceEndMs === 0 ? beginSlice() : sliceEndMs;

  /** To be called before work that cannot be cut: a promise to wait for, or `undefined` to begin. */
  begin(): Promise<void> | undefined {
    return performance.now() < this.#endMs ? undefined : this.#pause();
  }

  /** To be called at each step: a promise to wait for, or `undefined` to go on. */
  step(): Promise<void> | undefined {
    if (++this.#steps % STRIDE !== 0 || performance.now() < this.#endMs) return undefined;
    return this.#pause();
  }

  async #pause(): Promise<void> {
    await nextSlice();
    this.#endMs = sliceEndMs;
  }
}

/** The items that pass a test, which may take long for many of them. */
export async function inSlices<T>(
  items: readonly T[],
  test: (item: T) => boolean,
): Promise<T[]> {
  const passed: T[] = [];
  const slicer = new Slicer();
  for (const item of items) {
    if (test(item)) passed.push(item);
    const pause = slicer.step();
    if (pause !== undefined) await pause;
  }
  return passed;
}

/** Callers that are told before what they do then is let run. */
const TOLD_AT_ONCE = 8;

/**
 * Settles what others wait for, one after the other, and lets them go on in between.
 *
 * What each of them does then is short, but not while the runtime collects a large heap: it marks for
 * 5 ms or more each time when 64 KB were allocated.
 */
export async function settingOff<T>(items: readonly T[], settle: (item: T) => void): Promise<void> {
  let endMs = performance.now() + SLICE_MS;
  for (const [at, item] of items.entries()) {
    settle(item);
    if ((at + 1) % TOLD_AT_ONCE !== 0) continue;
    await undefined;
    if (performance.now() < endMs) continue;
    await loopTurn();
    endMs = performance.now() + SLICE_MS;
  }
}
