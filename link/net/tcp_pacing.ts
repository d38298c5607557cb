// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Spreads a window over the round trip.
 *
 * A window that goes out at once overflows the queue of a slower line long before the line itself is
 * full, and on a long path a loss in slow start costs seconds. On a short one there is nothing to
 * gain: its window is small, and timers are not fine enough.
 *
 * @module
 */

/** Shorter paths are not paced. */
const SHORTEST_RTT_MS = 10;
/** The rate, as a multiple of a window in a round trip; what the Linux kernel takes. */
const SLOW_START_GAIN = 2;
const GAIN = 1.2;
/** What was missed while the timer was late, or there was nothing to send, may be made up for. */
const CREDIT_MS = 4;

/** The pace of one connection. */
export class Pacing {
  #nextMs = 0;

  /** When the next segment may go out; a time that is past for at once. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** A segment went out; a window's worth of them takes a round trip, less what the gain makes. */
  sent(
    bytes: number,
    windowBytes: number,
    isSlowStart: boolean,
    rttMs: number,
    nowMs: number,
  ): void {
    if (rttMs < SHORTEST_RTT_MS) return;
    const perMs = (isSlowStart ? SLOW_START_GAIN : GAIN) * windowBytes / rttMs;
    this.#nextMs = Math.max(this.#nextMs, nowMs - CREDIT_MS) + Math.min(bytes / perMs, rttMs);
  }

  /** The next segment goes out at once. */
  reset(): void {
    this.#nextMs = 0;
  }

  /** Whether a segment has to wait. */
  isHeld(nowMs: number): boolean {
    return this.#nextMs > nowMs;
  }
}
