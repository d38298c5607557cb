// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One queue of timers for all peers and connections of a device.
 *
 * Thousands of timers that are mostly pushed back cost next to nothing: moving one to a later time
 * is a store to a field, and at any time at most one sleep of the clock is pending.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";

/** A moment that never comes. */
export const NEVER = Infinity;

// Making the default reason, an exception with its stack, costs more than all the rest.
const REARMED = "armed anew";

/** A clock that a change of the machine's time does not move. */
export const steadyClock: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  sleep: systemClock.sleep,
};

/** One timer; it fires once each time that it is set. */
export class Timer {
  /** When it fires, in ms of the clock; {@linkcode NEVER} when it is not set. */
  atMs = NEVER;
  /** The time under which it stands in the heap; never later than `atMs` while it is in there. */
  dueMs = NEVER;
  /** Its place in the heap, or -1. */
  slot = -1;
  readonly #queue: TimerQueue;

  constructor(queue: TimerQueue, readonly fire: (nowMs: number) => void) {
    this.#queue = queue;
  }

  /** Fires at a time, or never; what was set before is forgotten. */
  set(atMs: number): void {
    this.atMs = atMs;
    // A later time is found out when the entry comes up; an earlier one has to move it.
    if (atMs < this.dueMs) this.#queue.moveUp(this);
  }

  /** Does not fire until it is set again. */
  clear(): void {
    this.atMs = NEVER;
  }
}

/** A heap of timers and the one sleep that waits for the first. */
export class TimerQueue {
  readonly #clock: Clock;
  readonly #heap: Timer[] = [];
  #sleepingUntilMs = NEVER;
  #sleep = new AbortController();
  #isClosed = false;
  #isRunning = false;
  #runningMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many timers stand in the heap, set or recently cleared. */
  get size(): number {
    return this.#heap.length;
  }

  /** Makes a timer that is not set. */
  create(fire: (nowMs: number) => void): Timer {
    return new Timer(this, fire);
  }

  /** Nothing fires any more. */
  close(): void {
    this.#isClosed = true;
    this.#heap.length = 0;
    this.#sleep.abort();
  }

  /** Puts a timer where its `atMs` belongs; called by the timer. */
  moveUp(timer: Timer): void {
    if (this.#isClosed) return;
    // What is set for this very moment while timers fire has to wait for the next turn, or a timer
    // that sets itself again would never let go of the thread.
    timer.dueMs = this.#isRunning ? Math.max(timer.atMs, this.#runningMs + 1) : timer.atMs;
    if (timer.slot < 0) {
      timer.slot = this.#heap.length;
      this.#heap.push(timer);
    }
    this.#siftUp(timer);
    this.#arm();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (this.#isRunning || first === undefined || first.dueMs >= this.#sleepingUntilMs) return;
    this.#sleep.abort(REARMED);
    const sleep = new AbortController();
    this.#sleep = sleep;
    this.#sleepingUntilMs = first.dueMs;
    const waitMs = Math.max(0, Math.ceil(first.dueMs - this.#clock.nowMs()));
    void this.#clock.sleep(waitMs, sleep.signal).then(() => {
      if (sleep !== this.#sleep || this.#isClosed) return;
      this.#sleepingUntilMs = NEVER;
      this.#run();
    });
  }

  #run(): void {
    const nowMs = this.#clock.nowMs();
    this.#runningMs = nowMs;
    this.#isRunning = true;
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.dueMs > nowMs || this.#isClosed) break;
      if (first.atMs > nowMs && first.atMs !== NEVER) {
        first.dueMs = first.atMs;
        this.#siftDown(first);
        continue;
      }
      this.#removeFirst();
      if (first.atMs === NEVER) continue;
      first.atMs = NEVER;
      first.fire(nowMs);
    }
    this.#isRunning = false;
    this.#arm();
  }

  #removeFirst(): void {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return;
    first.slot = -1;
    first.dueMs = NEVER;
    if (first === last) return;
    last.slot = 0;
    this.#heap[0] = last;
    this.#siftDown(last);
  }

  #siftUp(timer: Timer): void {
    while (timer.slot > 0) {
      const parent = this.#heap[(timer.slot - 1) >> 1];
      if (parent === undefined || parent.dueMs <= timer.dueMs) return;
      this.#swap(timer, parent);
    }
  }

  #siftDown(timer: Timer): void {
    while (true) {
      const left = this.#heap[2 * timer.slot + 1];
      const right = this.#heap[2 * timer.slot + 2];
      if (left === undefined) return;
      const child = right !== undefined && right.dueMs < left.dueMs ? right : left;
      if (child.dueMs >= timer.dueMs) return;
      this.#swap(timer, child);
    }
  }

  #swap(a: Timer, b: Timer): void {
    const slot = a.slot;
    a.slot = b.slot;
    b.slot = slot;
    this.#heap[a.slot] = a;
    this.#heap[b.slot] = b;
  }
}
