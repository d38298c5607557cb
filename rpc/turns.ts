// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Turns of the event loop, so that a busy connection does not keep the others waiting.
 *
 * The runtime settles a read or a write at once when the socket is ready for it, and what follows
 * runs before anything else gets its turn. A peer that always has more to send, or always takes more,
 * would have the thread for itself. So work that goes on without ever waiting for its peer stands in
 * line after a while; work whose peer made it wait goes ahead of the line.
 *
 * @module
 */

// Long enough to make a turn's own cost small, short enough that nobody notices the wait.
const STREAK_MS = 2;

// What settles faster than this did not wait for the peer.
const WAITED_MS = 0.1;

// How many go on in one turn of the loop.
const AT_ONCE = 8;

const line: (() => void)[] = [];
let isScheduled = false;

/** Work that may go on without waiting for its peer, but not for ever. */
export class Streak {
  #startMs = 0;

  /**
   * Whether the work has to stand in line before it goes on.
   *
   * @param askedMs When it asked the peer for something, and `nowMs` when it got that.
   */
  isOver(askedMs: number, nowMs: number): boolean {
    if (nowMs - askedMs > WAITED_MS) this.#startMs = nowMs;
    return nowMs - this.#startMs > STREAK_MS;
  }

  /** Whether the work has to stand in line although it has asked the peer for nothing. */
  isOverAt(nowMs: number): boolean {
    return line.length > 0 || nowMs - this.#startMs > STREAK_MS;
  }

  /** Stands in line. */
  async pause(): Promise<void> {
    await nextTurn();
    this.#startMs = performance.now();
  }
}

/** Resolves when whatever else is ready, and who stood in line before, had a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    line.push(resolve);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(callSome);
}

function callSome(): void {
  isScheduled = false;
  for (const resolve of line.splice(0, AT_ONCE)) resolve();
  if (line.length > 0) schedule();
}
