// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A clock that moves only when the simulation says so.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";

/** Turns of the microtask queue after each sleeper that wakes; longer chains go on at the next. */
const TURNS = 60;

interface Sleeper {
  readonly atMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/** Sleepers wake in the order of their times, so that a run repeats exactly. */
export class VirtualClock implements Clock {
  #nowMs = Date.UTC(2026, 0, 1);
  #order = 0;
  readonly #sleepers = new Set<Sleeper>();

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { atMs: this.#nowMs + ms, order: this.#order++, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", wake);
    });
  }

  /** Lets what is ready run, then wakes everybody whose time comes within `ms`. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await this.#drain();
    for (let next = this.#first(); next !== undefined && next.atMs <= endMs; next = this.#first()) {
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
      await this.#drain();
    }
    this.#nowMs = endMs;
  }

  #first(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (first === undefined || isBefore(sleeper, first)) first = sleeper;
    }
    return first;
  }

  async #drain(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
  }
}

function isBefore(a: Sleeper, b: Sleeper): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
