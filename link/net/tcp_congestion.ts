// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How much a connection may have in flight: CUBIC (RFC 9438) with proportional rate reduction
 * during recovery (RFC 6937).
 *
 * @module
 */

const BETA = 0.7;
const C = 0.4;
/** Growth of the estimate of what standard TCP would use. */
const RENO_ALPHA = (3 * (1 - BETA)) / (1 + BETA);
const INITIAL_SEGMENTS = 10;
const MIN_SEGMENTS = 2;

/** The congestion window of one connection, in bytes. */
export class Congestion {
  windowBytes: number;
  #thresholdBytes = Infinity;
  readonly #mss: number;
  #wMax = 0;
  #epochMs = 0;
  #kSeconds = 0;
  #renoSegments = 0;
  #isRecovering = false;
  #delivered = 0;
  #sentInRecovery = 0;
  #flightAtLoss = 0;
  #windowBefore = 0;
  #thresholdBefore = 0;

  constructor(mss: number) {
    this.#mss = mss;
    this.windowBytes = INITIAL_SEGMENTS * mss;
  }

  /** Whether the window still doubles every round trip. */
  get isSlowStart(): boolean {
    return this.windowBytes < this.#thresholdBytes;
  }

  /** What is to go out in a round trip; in a recovery the window itself only follows what arrives. */
  get targetBytes(): number {
    return this.#isRecovering ? this.#thresholdBytes : this.windowBytes;
  }

  /** Slow start is over, though nothing was lost. */
  endSlowStart(): void {
    this.#thresholdBytes = this.windowBytes;
  }

  /**
   * New data was acknowledged while nothing was lost and the window was the limit.
   *
   * @param divisor What the growth of slow start is divided by.
   */
  grow(ackedBytes: number, rttMs: number, nowMs: number, divisor = 1): void {
    if (this.isSlowStart) {
      this.windowBytes += ackedBytes / divisor;
      return;
    }
    const segments = this.windowBytes / this.#mss;
    if (this.#epochMs === 0) {
      this.#epochMs = nowMs;
      this.#wMax = Math.max(this.#wMax, segments);
      this.#kSeconds = Math.cbrt((this.#wMax - segments) / C);
      this.#renoSegments = segments;
    }
    const seconds = (nowMs - this.#epochMs + rttMs) / 1000;
    const cubic = C * (seconds - this.#kSeconds) ** 3 + this.#wMax;
    const target = Math.min(Math.max(cubic, segments), 1.5 * segments);
    // Beyond the window before the loss standard TCP would grow by a segment in a round trip.
    const alpha = this.#renoSegments * this.#mss < this.#windowBefore ? RENO_ALPHA : 1;
    this.#renoSegments += alpha * (ackedBytes / this.windowBytes);
    const grown = segments + (target - segments) * (ackedBytes / this.windowBytes);
    this.windowBytes = Math.max(grown, this.#renoSegments) * this.#mss;
  }

  /** A loss was found; recovery begins. */
  startRecovery(flightBytes: number): void {
    this.#reduce();
    this.#isRecovering = true;
    this.#delivered = 0;
    this.#sentInRecovery = 0;
    this.#flightAtLoss = Math.max(flightBytes, this.#mss);
  }

  /** An acknowledgement came during recovery: as many bytes may go out as keep the rate even. */
  recover(deliveredBytes: number, flightBytes: number): void {
    this.#delivered += deliveredBytes;
    const threshold = this.#thresholdBytes;
    let allowance: number;
    if (flightBytes > threshold) {
      allowance = (this.#delivered * threshold) / this.#flightAtLoss - this.#sentInRecovery;
    } else {
      const limit = Math.max(this.#delivered - this.#sentInRecovery, deliveredBytes) + this.#mss;
      allowance = Math.min(threshold - flightBytes, limit);
    }
    // The first lost segment goes out whatever the flight, or nothing would ever move.
    if (this.#sentInRecovery === 0) allowance = Math.max(allowance, this.#mss);
    this.windowBytes = flightBytes + Math.max(0, allowance);
  }

  /** Bytes went out, new or again. */
  sent(bytes: number): void {
    if (this.#isRecovering) this.#sentInRecovery += bytes;
  }

  /** Everything that was in flight at the loss has arrived. */
  endRecovery(): void {
    if (!this.#isRecovering) return;
    this.#isRecovering = false;
    this.windowBytes = this.#thresholdBytes;
  }

  /** The retransmission timer expired: begin again with one segment. */
  timeout(isFirst: boolean): void {
    if (isFirst) this.#reduce();
    this.#isRecovering = false;
    this.windowBytes = this.#mss;
  }

  /** The last reduction was needless: go on as if it had not been. */
  undo(): void {
    this.#isRecovering = false;
    this.windowBytes = Math.max(this.windowBytes, this.#windowBefore);
    this.#thresholdBytes = Math.max(this.#thresholdBytes, this.#thresholdBefore);
    this.#epochMs = 0;
  }

  /** Nothing was sent for a while: the window says nothing about the path any more. */
  idle(): void {
    this.windowBytes = Math.min(this.windowBytes, INITIAL_SEGMENTS * this.#mss);
    this.#epochMs = 0;
  }

  #reduce(): void {
    this.#windowBefore = this.windowBytes;
    this.#thresholdBefore = this.#thresholdBytes;
    const segments = this.windowBytes / this.#mss;
    // Fast convergence: a flow that lost before reaching its last maximum makes room for others.
    this.#wMax = segments < this.#wMax ? segments * (1 + BETA) / 2 : segments;
    this.#epochMs = 0;
    this.#thresholdBytes = Math.max(this.windowBytes * BETA, MIN_SEGMENTS * this.#mss);
  }
}
