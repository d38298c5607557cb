// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How large a window a connection offers: twice what its reader takes in a round trip.
 *
 * @module
 */

/** A shorter path does not need more than the first window, and would only burst. */
const SHORTEST_RTT_MS = 4;

/** Measures one connection. */
export class WindowTuner {
  #rttMs = Infinity;
  #sinceMs = 0;
  #readBytes = 0;

  /** Takes a measurement of the round trip, in ms; the shortest counts. */
  noteRtt(rttMs: number): void {
    this.#rttMs = Math.min(this.#rttMs, rttMs);
  }

  /** The reader took bytes; returns the window that would keep it busy. */
  noteRead(bytes: number, nowMs: number): number {
    this.#readBytes += bytes;
    if (this.#rttMs < SHORTEST_RTT_MS || nowMs - this.#sinceMs < this.#rttMs) return 0;
    const isFirst = this.#sinceMs === 0 || nowMs - this.#sinceMs > 2 * this.#rttMs;
    const wanted = isFirst ? 0 : 2 * this.#readBytes;
    this.#sinceMs = nowMs;
    this.#readBytes = 0;
    return wanted;
  }
}
