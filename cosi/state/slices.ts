// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Long loops in slices, so that nothing else on the thread waits for them.
 *
 * @module
 */

/** A slice's length in milliseconds: well below the 20 ms that the main thread may be blocked. */
const SLICE_MS = 8;

/** Items between two looks at the clock. */
const STRIDE = 64;

/** Lets everything else that waits for the thread run. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** The items that pass a test, which may take long for many of them. */
export async function inSlices<T>(
  items: readonly T[],
  test: (item: T) => boolean,
): Promise<T[]> {
  const passed: T[] = [];
  let end = performance.now() + SLICE_MS;
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as T;
    if (test(item)) passed.push(item);
    if (i % STRIDE === STRIDE - 1 && performance.now() > end) {
      await breathe();
      end = performance.now() + SLICE_MS;
    }
  }
  return passed;
}
