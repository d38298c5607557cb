// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Round-trip time and the retransmission time-out (RFC 6298), all in ms.
 *
 * @module
 */

const INITIAL_RTO_MS = 1000;
/**
 * The least that is added to the round trip, as the Linux kernel has it: a peer may hold back an
 * acknowledgement for that long, however steady the path is.
 */
const MIN_VARIANCE_MS = 200;
const MAX_RTO_MS = 60_000;

/** The estimate for one connection. */
export class RoundTrip {
  smoothedMs = 0;
  minMs = Infinity;
  /** The last measurement, until somebody takes it. */
  #latestMs: number | undefined;
  #varianceMs = 0;
  #backoff = 0;

  /** Whether anything was measured yet. */
  get isKnown(): boolean {
    return this.smoothedMs > 0;
  }

  /** The time-out, doubled for each expiry since the last measurement. */
  get timeoutMs(): number {
    const base = this.isKnown
      ? this.smoothedMs + Math.max(MIN_VARIANCE_MS, 4 * this.#varianceMs)
      : INITIAL_RTO_MS;
    return Math.min(MAX_RTO_MS, base * 2 ** this.#backoff);
  }

  /** Adds a measurement. */
  add(sampleMs: number): void {
    const rttMs = Math.max(sampleMs, 0.01);
    this.minMs = Math.min(this.minMs, rttMs);
    this.#latestMs = rttMs;
    if (this.isKnown) {
      this.#varianceMs = 0.75 * this.#varianceMs + 0.25 * Math.abs(this.smoothedMs - rttMs);
      this.smoothedMs = 0.875 * this.smoothedMs + 0.125 * rttMs;
    } else {
      this.smoothedMs = rttMs;
      this.#varianceMs = rttMs / 2;
    }
    this.#backoff = 0;
  }

  /** Takes the last measurement, if there was one since it was taken. */
  takeLatest(): number | undefined {
    const latestMs = this.#latestMs;
    this.#latestMs = undefined;
    return latestMs;
  }

  /** The timer expired. */
  backOff(): void {
    this.#backoff = Math.min(this.#backoff + 1, 16);
  }

  /** Something new was acknowledged. */
  resetBackoff(): void {
    this.#backoff = 0;
  }
}
