// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * When slow start ends before it makes losses: HyStart++ (RFC 9406), all numbers its own.
 *
 * A round trip that grows means that a queue fills. Growth then goes on at a quarter of its rate
 * for a few rounds, in case that it was something else.
 *
 * @module
 */

import { seqDiff } from "./tcp_segment.ts";

const SAMPLES = 8;
const LEAST_THRESHOLD_MS = 4;
const MOST_THRESHOLD_MS = 16;
const THRESHOLD_DIVISOR = 8;
const CAREFUL_DIVISOR = 4;
const CAREFUL_ROUNDS = 5;

/** The rounds of one slow start. */
export class SlowStart {
  #roundEnd: number | undefined;
  #samples = 0;
  #lastMinMs = Infinity;
  #minMs = Infinity;
  /** The round trip at which care began; infinite while there is none. */
  #baselineMs = Infinity;
  #carefulRounds = 0;

  /** What growth is divided by. */
  get divisor(): number {
    return this.#baselineMs === Infinity ? 1 : CAREFUL_DIVISOR;
  }

  /**
   * Takes an acknowledgement.
   *
   * @param next The next number that was never sent.
   * @param sampleMs The round trip that it measured, if it did.
   * @returns Whether slow start is over.
   */
  noteAck(ack: number, next: number, sampleMs: number | undefined): boolean {
    if (this.#roundEnd === undefined || seqDiff(ack, this.#roundEnd) >= 0) {
      this.#roundEnd = next;
      if (this.#baselineMs !== Infinity && ++this.#carefulRounds > CAREFUL_ROUNDS) return true;
      this.#lastMinMs = this.#minMs;
      this.#minMs = Infinity;
      this.#samples = 0;
    }
    if (sampleMs === undefined) return false;
    this.#samples++;
    this.#minMs = Math.min(this.#minMs, sampleMs);
    if (this.#samples >= SAMPLES) this.#judge();
    return false;
  }

  #judge(): void {
    if (this.#baselineMs !== Infinity) {
      // It was something else.
      if (this.#minMs < this.#baselineMs) this.#baselineMs = Infinity;
      return;
    }
    if (this.#lastMinMs === Infinity) return;
    const thresholdMs = Math.min(
      Math.max(this.#lastMinMs / THRESHOLD_DIVISOR, LEAST_THRESHOLD_MS),
      MOST_THRESHOLD_MS,
    );
    if (this.#minMs < this.#lastMinMs + thresholdMs) return;
    this.#baselineMs = this.#minMs;
    this.#carefulRounds = 0;
  }
}
