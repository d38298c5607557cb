// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps long chains of microtasks from starving I/O.
 *
 * @module
 */

/** In milliseconds: half of what the main thread may spend at a stretch (20 ms) stays for others. */
export const SLICE_MS = 8;

/** Shared by everything that works through queues on one thread. */
export class Pacer {
  readonly #sliceMs: number;
  #sliceStartMs = performance.now();
  #turn: Promise<void> | undefined;

  constructor(sliceMs: number = SLICE_MS) {
    this.#sliceMs = sliceMs;
  }

  /** `undefined` while the slice lasts, else a promise to await before going on. */
  pause(): Promise<void> | undefined {
    if (this.#turn !== undefined) return this.#turn;
    if (performance.now() - this.#sliceStartMs < this.#sliceMs) return undefined;
    this.#turn = new Promise((resolve) => {
      setTimeout(() => {
        this.#turn = undefined;
        this.#sliceStartMs = performance.now();
        resolve();
      }, 0);
    });
    return this.#turn;
  }
}
