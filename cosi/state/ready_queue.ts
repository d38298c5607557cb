// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs the streams that have something to send, a slice of time after the other: a change that a
 * thousand watches see must not hold up everything else.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/** Well below the 20 ms that the main thread may be blocked. */
const SLICE_MS = 4;

/** Runs between two looks at the clock. */
const STRIDE = 16;

/** A queue of short pieces of work. */
export class ReadyQueue {
  #ready: (() => void)[] = [];
  #isScheduled = false;

  /** Runs a piece of work soon. */
  add(run: () => void): void {
    this.#ready.push(run);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(this.#drain);
  }

  readonly #drain = (): void => {
    const end = performance.now() + SLICE_MS;
    let done = 0;
    // What comes in the meantime is at the end of the same list.
    while (done < this.#ready.length) {
      this.#ready[done++]?.();
      if (done % STRIDE === 0 && performance.now() > end) break;
    }
    this.#ready = this.#ready.slice(done);
    this.#isScheduled = this.#ready.length > 0;
    if (this.#isScheduled) setImmediate(this.#drain);
  };
}
