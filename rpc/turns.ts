// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Who may use the thread now and who stands in line, so that nobody keeps the others waiting.
 *
 * The runtime settles a read or a write at once when the socket is ready for it, and what follows
 * runs before anything else gets its turn: a peer that always has more to send would have the thread
 * for itself, and so would a thousand peers that dial at once. So connections that have just come,
 * those that go, and work that goes on without ever waiting for its peer share a small part of each
 * turn of the event loop. A peer that is there for a while and makes its calls goes ahead of them.
 *
 * @module
 */

import { loopTurn } from "../base/turn.ts";

// So long a connection is new: most that come only to make work do not last.
const NEW_MS = 100;

// Long enough to make a turn's own cost small, short enough that nobody notices the wait.
const STREAK_MS = 2;

// What settles faster than a call to the system, and a copy of its bytes at a gigabyte a second, did
// not wait for the peer. No peer answers sooner than that.
const CALL_MS = 0.03;
const COPIED_BYTES_PER_MS = 1e6;

// What the line may take of one turn of the event loop: little while somebody goes ahead of it.
const SLICE_MS = 2;
const SHARED_SLICE_MS = 0.05;
const SHARED_FOR_MS = 5;

// After so long without work a slice is over.
const GAP_MS = 1;

/** Those who wait for their part of a turn. */
class Line {
  #waiting: (() => void)[] = [];
  #isRunning = false;
  #sliceStartMs = 0;
  #lastMs = 0;
  #sharedUntilMs = 0;

  /** Whether somebody waits. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Somebody has gone ahead. */
  noteAhead(nowMs: number): void {
    this.#sharedUntilMs = nowMs + SHARED_FOR_MS;
  }

  /**
   * Whether there is work enough for this turn, so that more has to wait.
   *
   * @param sinceMs Since when who asks has been working already.
   */
  isFull(nowMs: number, sinceMs = nowMs): boolean {
    if (this.#isRunning) return true;
    if (nowMs - this.#lastMs > GAP_MS) this.#sliceStartMs = sinceMs;
    this.#lastMs = nowMs;
    return nowMs > this.#sliceEndMs;
  }

  /** Calls back when it is its turn. */
  add(run: () => void): void {
    this.#waiting.push(run);
    if (!this.#isRunning) void this.#run();
  }

  get #sliceEndMs(): number {
    const isShared = this.#sliceStartMs < this.#sharedUntilMs;
    return this.#sliceStartMs + (isShared ? SHARED_SLICE_MS : SLICE_MS);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      await loopTurn();
      this.#sliceStartMs = performance.now();
      const line = this.#waiting;
      let done = 0;
      do {
        line[done++]?.();
        // What was called back goes on before this does.
        await undefined;
      } while (done < line.length && performance.now() < this.#sliceEndMs);
      this.#waiting = line.slice(done);
    }
    this.#lastMs = performance.now();
    this.#isRunning = false;
  }
}

const line = new Line();

/**
 * To be called before work that is in no hurry: a promise to wait for, or `undefined` when it may go
 * on at once. It has to do so without waiting for anything, or all who ask meanwhile may go on too.
 */
export function lineTurn(nowMs = performance.now()): Promise<void> | undefined {
  return line.isFull(nowMs) ? new Promise((resolve) => line.add(resolve)) : undefined;
}

/** One direction of a connection, whose work may go on without waiting for its peer, but not for ever. */
export class Streak {
  #newUntilMs = performance.now() + NEW_MS;
  #startMs = 0;

  /**
   * To be called before the work: a promise to wait for, or `undefined` when it may go on at once.
   *
   * @param bytes How many were read or written, asked for at `askedMs` and done at `nowMs`.
   */
  turn(bytes: number, askedMs: number, nowMs: number): Promise<void> | undefined {
    const hasWaited = nowMs - askedMs > CALL_MS + bytes / COPIED_BYTES_PER_MS;
    if (hasWaited) this.#startMs = nowMs;
    if (nowMs > this.#newUntilMs && nowMs - this.#startMs <= STREAK_MS) {
      if (hasWaited) line.noteAhead(nowMs);
      return undefined;
    }
    return line.isFull(nowMs, this.#sinceMs(nowMs)) ? this.#stand() : undefined;
  }

  /** The same for work that has asked the peer for nothing. */
  turnAt(nowMs: number): Promise<void> | undefined {
    const mayGoOn = nowMs > this.#newUntilMs && !line.isWaiting &&
      nowMs - this.#startMs <= STREAK_MS;
    return mayGoOn || !line.isFull(nowMs, this.#sinceMs(nowMs)) ? undefined : this.#stand();
  }

  /** Since when it has been working at a stretch; a new connection's slices are short anyway. */
  #sinceMs(nowMs: number): number {
    return nowMs > this.#newUntilMs ? this.#startMs : nowMs;
  }

  /** Treats the connection as new again: its peer makes work for nothing. */
  demote(nowMs: number): void {
    this.#newUntilMs = nowMs + NEW_MS;
  }

  /** Until when its work may go on at a stretch. */
  untilMs(nowMs: number): number {
    return nowMs + (nowMs > this.#newUntilMs ? STREAK_MS / 2 : SHARED_SLICE_MS);
  }

  #stand(): Promise<void> {
    return new Promise((resolve) =>
      line.add(() => {
        this.#startMs = performance.now();
        resolve();
      })
    );
  }
}
