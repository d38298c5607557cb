// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Many timers for the price of one: deadlines of calls and checks of sessions.
 *
 * Invariant: a timer never fires before its time; it fires at most two ticks after it.
 *
 * @module
 */

/** A scheduled callback. */
export interface WheelTimer {
  /** Prevents the callback; harmless after it ran. */
  cancel(): void;
}

const SLOTS = 256;

class Entry implements WheelTimer {
  next: Entry | undefined;
  previous: Entry | undefined;
  constructor(
    readonly wheel: TimerWheel,
    readonly tick: number,
    public callback: (() => void) | undefined,
  ) {}
  cancel(): void {
    if (this.callback === undefined) return;
    this.callback = undefined;
    this.wheel.remove(this);
  }
}

/**
 * A hashed wheel. Its one interval runs while it holds timers; while users have retained it the
 * interval outlives the last timer by a tick, so that call after call does not start and stop it.
 */
export class TimerWheel {
  readonly #tickMs: number;
  readonly #slots: (Entry | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #startMs = performance.now();
  #count = 0;
  #users = 0;
  #doneTick = 0;
  #interval: ReturnType<typeof setInterval> | undefined;

  constructor(tickMs: number) {
    this.#tickMs = tickMs;
  }

  /** Keeps the interval from stopping with each last timer. */
  retain(): void {
    this.#users++;
  }

  /** Undoes one {@linkcode retain}. */
  release(): void {
    this.#users--;
    this.#stopWhenUnused();
  }

  /** Runs `callback` once, at least `delayMs` from now. It must not throw. */
  schedule(delayMs: number, callback: () => void): WheelTimer {
    const tick = Math.ceil((performance.now() - this.#startMs + delayMs) / this.#tickMs) + 1;
    const entry = new Entry(this, tick, callback);
    const slot = tick % SLOTS;
    const head = this.#slots[slot];
    entry.next = head;
    if (head !== undefined) head.previous = entry;
    this.#slots[slot] = entry;
    this.#count++;
    if (this.#interval === undefined) {
      this.#doneTick = this.#currentTick();
      this.#interval = setInterval(() => this.#advance(), this.#tickMs);
    }
    return entry;
  }

  /** Takes an entry out of its slot; only for the entry itself. */
  remove(entry: Entry): void {
    this.#unlink(entry);
    if (this.#users === 0) this.#stopWhenUnused();
  }

  #currentTick(): number {
    return Math.floor((performance.now() - this.#startMs) / this.#tickMs);
  }

  #unlink(entry: Entry): void {
    if (entry.previous === undefined) this.#slots[entry.tick % SLOTS] = entry.next;
    else entry.previous.next = entry.next;
    if (entry.next !== undefined) entry.next.previous = entry.previous;
    entry.next = entry.previous = undefined;
    this.#count--;
  }

  #advance(): void {
    if (this.#count === 0) {
      clearInterval(this.#interval);
      this.#interval = undefined;
      return;
    }
    const now = this.#currentTick();
    // After a long pause one round over the slots covers every tick that passed.
    const first = Math.max(this.#doneTick + 1, now - SLOTS + 1);
    this.#doneTick = now;
    const due: Entry[] = [];
    for (let tick = first; tick <= now; tick++) {
      for (let entry = this.#slots[tick % SLOTS]; entry !== undefined; entry = entry.next) {
        if (entry.tick <= now) due.push(entry);
      }
    }
    for (const entry of due) {
      const callback = entry.callback;
      // An earlier callback of this round may have cancelled it.
      if (callback === undefined) continue;
      entry.callback = undefined;
      this.#unlink(entry);
      callback();
    }
    if (this.#users === 0) this.#stopWhenUnused();
  }

  #stopWhenUnused(): void {
    if (this.#users > 0 || this.#count > 0 || this.#interval === undefined) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
  }
}

/** For deadlines of calls. */
export const fineWheel = new TimerWheel(10);

/** For checks of sessions: keepalive, stalls, idle time. */
export const coarseWheel = new TimerWheel(250);
