// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Any number of deadlines on one timer.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";

/** A planned call; {@linkcode Timer.cancel} is cheap and may be called late. */
export interface Timer {
  cancel(): void;
}

interface Entry {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

/** The platform's timers take 31 bits of milliseconds and fire at once beyond. */
const LONGEST_SLEEP_MS = 2 ** 30;

/** Runs callbacks at their time, the earliest first, with at most one sleep outstanding. */
export class Timers {
  readonly #clock: Clock;
  readonly #heap: Entry[] = [];
  #order = 0;
  #cancelled = 0;
  #sleep: { readonly atMs: number; readonly abort: AbortController } | undefined;
  #sleeping: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `run` after `ms` milliseconds; it must not throw. */
  after(ms: number, run: () => void): Timer {
    const entry: Entry = { atMs: this.#clock.nowMs() + ms, order: this.#order++, run };
    this.#push(entry);
    this.#arm();
    return { cancel: () => this.#cancel(entry) };
  }

  /** Planned calls, some of which may be cancelled. */
  get size(): number {
    return this.#heap.length;
  }

  /** Drops all planned calls and waits until no sleep is outstanding. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#heap.length = 0;
    this.#sleep?.abort.abort();
    await this.#sleeping;
  }

  #cancel(entry: Entry): void {
    if (entry.run === undefined) return;
    entry.run = undefined;
    this.#cancelled += 1;
    // Most deadlines are cancelled long before their time: they must not pile up until then.
    if (this.#cancelled < 64 || this.#cancelled * 2 < this.#heap.length) return;
    const live = this.#heap.filter(({ run }) => run !== undefined);
    this.#heap.length = 0;
    this.#cancelled = 0;
    for (const other of live) this.#push(other);
  }

  #arm(): void {
    while (this.#heap[0] !== undefined && this.#heap[0].run === undefined) {
      this.#pop();
      this.#cancelled -= 1;
    }
    const first = this.#heap[0];
    if (first === undefined || this.#closed) return;
    if (this.#sleep !== undefined) {
      if (this.#sleep.atMs <= first.atMs) return;
      this.#sleep.abort.abort(); // Its continuation arms again.
      return;
    }
    const abort = new AbortController();
    this.#sleep = { atMs: first.atMs, abort };
    const ms = Math.min(LONGEST_SLEEP_MS, Math.max(0, first.atMs - this.#clock.nowMs()));
    this.#sleeping = this.#clock.sleep(ms, abort.signal).then(() => {
      this.#sleep = undefined;
      this.#fire();
      this.#arm();
    });
  }

  #fire(): void {
    const nowMs = this.#clock.nowMs();
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.run !== undefined && first.atMs > nowMs) return;
      this.#pop();
      const { run } = first;
      if (run === undefined) {
        this.#cancelled -= 1;
        continue;
      }
      first.run = undefined;
      run();
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt];
      if (parent === undefined || !isEarlier(entry, parent)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = heap[childAt];
      const right = heap[childAt + 1];
      if (child === undefined) break;
      if (right !== undefined && isEarlier(right, child)) {
        child = right;
        childAt += 1;
      }
      if (!isEarlier(child, last)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
  }
}

function isEarlier(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
