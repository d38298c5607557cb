// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Long loops in slices, so that nothing else on the thread waits for them.
 *
 * @module
 */

import { loopTurn } from "../../base/turn.ts";

/** A slice's length in milliseconds: well below the 20 ms that the main thread may be blocked. */
const SLICE_MS = 4;

/** Steps between two looks at the clock. */
const STRIDE = 64;

/** Tells a loop when to let others run. */
export class Slicer {
  #steps = 0;
  #end = performance.now() + SLICE_MS;

  /** To be called at each step: a promise to wait for, or `undefined` to go on. */
  step(): Promise<void> | undefined {
    if (++this.#steps % STRIDE !== 0 || performance.now() < this.#end) return undefined;
    return loopTurn().then(() => {
      this.#end = performance.now() + SLICE_MS;
    });
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
