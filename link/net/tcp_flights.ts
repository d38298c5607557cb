// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The segments of a TCP connection that wait for an acknowledgement, and which of them are lost:
 * what was sent well before something that has arrived (RACK, RFC 8985).
 *
 * @module
 */

import type { RoundTrip } from "./tcp_rtt.ts";
import { type SackBlock, seqDiff } from "./tcp_segment.ts";

/** Acknowledgements beyond a gap that mean loss at once, as long as no reordering was seen. */
const DUPLICATE_THRESHOLD = 3;
const MAX_REORDERING_STEPS = 16;
const EARLIEST = -Infinity;

/** One segment in flight. */
export interface Flight {
  readonly start: number;
  readonly end: number;
  sentMs: number;
  isSacked: boolean;
  isLost: boolean;
  /** Whether it was sent again since it was found lost. */
  isResent: boolean;
  /** Whether it was ever sent again: its acknowledgement says little about time. */
  wasResent: boolean;
}

/** The segments in flight, in order. */
export class Flights {
  sackedBytes = 0;
  lostBytes = 0;
  resentBytes = 0;
  readonly #mss: number;
  readonly #rtt: RoundTrip;
  readonly #list: Flight[] = [];
  /** No lost flight before this place waits to be sent again. */
  #lostFrom = 0;
  #rackSentMs = EARLIEST;
  #rackEnd: number;
  #rackRttMs = 0;
  #highestArrived: number;
  #hasReordering = false;
  #reorderingSteps = 1;

  constructor(firstSeq: number, mss: number, rtt: RoundTrip) {
    this.#mss = mss;
    this.#rtt = rtt;
    this.#rackEnd = this.#highestArrived = firstSeq;
  }

  get length(): number {
    return this.#list.length;
  }

  get first(): Flight | undefined {
    return this.#list[0];
  }

  get last(): Flight | undefined {
    return this.#list.at(-1);
  }

  /** Adds a segment behind all others. */
  add(start: number, end: number, nowMs: number): void {
    this.#list.push({
      start,
      end,
      sentMs: nowMs,
      isSacked: false,
      isLost: false,
      isResent: false,
      wasResent: false,
    });
  }

  /** The first lost segment that was not sent again. */
  nextLost(): Flight | undefined {
    if (this.lostBytes <= this.resentBytes) return undefined;
    for (; this.#lostFrom < this.#list.length; this.#lostFrom++) {
      const flight = this.#list[this.#lostFrom];
      if (flight !== undefined && flight.isLost && !flight.isResent) return flight;
    }
    return undefined;
  }

  /** A segment goes out again. */
  resend(flight: Flight, nowMs: number): void {
    if (flight.isLost && !flight.isResent) {
      flight.isResent = true;
      this.resentBytes += lengthOf(flight);
    }
    flight.wasResent = true;
    flight.sentMs = nowMs;
  }

  /** Removes what an acknowledgement covers. */
  acknowledge(ack: number, nowMs: number): void {
    let count = 0;
    let sampleMs = -1;
    for (const flight of this.#list) {
      if (seqDiff(flight.end, ack) > 0) break;
      count++;
      if (!flight.isSacked) {
        this.#noteArrived(flight, nowMs);
        if (!flight.wasResent) sampleMs = nowMs - flight.sentMs;
      }
      this.#uncount(flight);
    }
    if (count > 0) this.#list.splice(0, count);
    this.#lostFrom = Math.max(0, this.#lostFrom - count);
    if (sampleMs >= 0) this.#rtt.add(sampleMs);
    this.#trimFirst(ack);
    if (seqDiff(this.#highestArrived, ack) < 0) this.#highestArrived = ack;
  }

  /** Marks what a block reports to have arrived. */
  sack(block: SackBlock, nowMs: number): void {
    const first = this.#list[0];
    const last = this.#list.at(-1);
    if (first === undefined || last === undefined || seqDiff(block.end, block.start) <= 0) return;
    if (seqDiff(block.start, first.start) < 0 || seqDiff(block.end, last.end) > 0) return;
    for (let i = this.#indexFrom(block.start); i < this.#list.length; i++) {
      const flight = this.#list[i];
      if (flight === undefined || seqDiff(flight.end, block.end) > 0) break;
      if (flight.isSacked) continue;
      this.#noteArrived(flight, nowMs);
      this.#uncount(flight);
      flight.isSacked = true;
      flight.isLost = flight.isResent = false;
      this.sackedBytes += lengthOf(flight);
      if (seqDiff(flight.end, this.#highestArrived) > 0) this.#highestArrived = flight.end;
    }
  }

  /** Something that counted as lost was only late. */
  noteReordering(): void {
    this.#hasReordering = true;
  }

  /** Something was sent again without need: more patience with what looks lost. */
  noteSpurious(): void {
    this.#reorderingSteps = Math.min(this.#reorderingSteps + 1, MAX_REORDERING_STEPS);
  }

  /**
   * Marks as lost what was sent long enough before something that has arrived.
   *
   * @returns Whether anything was, and after how many ms the next may be.
   */
  detectLoss(isRecovering: boolean, nowMs: number): { hasLoss: boolean; waitMs: number } {
    let hasLoss = false;
    let waitMs = Infinity;
    // Without gaps nothing is left that was sent before what has arrived.
    if (this.#rackSentMs === EARLIEST || (this.sackedBytes === 0 && !isRecovering)) {
      return { hasLoss, waitMs };
    }
    const graceMs = this.#rackRttMs + this.#reorderingWindowMs(isRecovering);
    for (const flight of this.#list) {
      if (flight.isSacked || (flight.isLost && !flight.isResent)) continue;
      const isBefore = flight.sentMs < this.#rackSentMs ||
        (flight.sentMs === this.#rackSentMs && seqDiff(flight.end, this.#rackEnd) < 0);
      if (!isBefore) continue;
      const leftMs = flight.sentMs + graceMs - nowMs;
      if (leftMs > 0) {
        waitMs = Math.min(waitMs, Math.max(leftMs, 1));
      } else {
        this.#markLost(flight);
        hasLoss = true;
      }
    }
    return { hasLoss, waitMs };
  }

  /** Everything that did not arrive counts as lost. */
  loseAll(): void {
    for (const flight of this.#list) if (!flight.isSacked) this.#markLost(flight);
  }

  /** Forgets everything. */
  clear(): void {
    this.#list.length = 0;
    this.sackedBytes = this.lostBytes = this.resentBytes = 0;
  }

  /** A segment that was acknowledged in part begins at what is left of it. */
  #trimFirst(ack: number): void {
    const first = this.#list[0];
    if (first === undefined || seqDiff(first.start, ack) >= 0) return;
    const rest: Flight = { ...first, start: ack };
    const less = lengthOf(first) - lengthOf(rest);
    this.#list[0] = rest;
    if (rest.isSacked) this.sackedBytes -= less;
    if (rest.isLost) this.lostBytes -= less;
    if (rest.isResent) this.resentBytes -= less;
  }

  #indexFrom(seq: number): number {
    let low = 0;
    let high = this.#list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const flight = this.#list[middle];
      if (flight !== undefined && seqDiff(flight.start, seq) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #noteArrived(flight: Flight, nowMs: number): void {
    const rttMs = nowMs - flight.sentMs;
    // Too soon for the copy: it was the first one that arrived.
    if (flight.wasResent && rttMs < this.#rtt.minMs) return;
    if (!flight.wasResent && seqDiff(flight.end, this.#highestArrived) < 0) {
      this.#hasReordering = true;
    }
    const isLater = flight.sentMs > this.#rackSentMs ||
      (flight.sentMs === this.#rackSentMs && seqDiff(flight.end, this.#rackEnd) > 0);
    if (!isLater) return;
    this.#rackSentMs = flight.sentMs;
    this.#rackEnd = flight.end;
    this.#rackRttMs = rttMs;
  }

  #reorderingWindowMs(isRecovering: boolean): number {
    const isSure = isRecovering || this.sackedBytes >= DUPLICATE_THRESHOLD * this.#mss;
    if (!this.#hasReordering && isSure) return 0;
    const quarterMs = this.#rtt.minMs === Infinity ? 0 : this.#rtt.minMs / 4;
    return Math.min(this.#reorderingSteps * quarterMs, this.#rtt.smoothedMs);
  }

  #markLost(flight: Flight): void {
    if (flight.isResent) this.resentBytes -= lengthOf(flight);
    if (!flight.isLost) this.lostBytes += lengthOf(flight);
    flight.isLost = true;
    flight.isResent = false;
    this.#lostFrom = 0;
  }

  #uncount(flight: Flight): void {
    const length = lengthOf(flight);
    if (flight.isSacked) this.sackedBytes -= length;
    if (flight.isLost) this.lostBytes -= length;
    if (flight.isResent) this.resentBytes -= length;
  }
}

/** The sequence numbers that a flight takes up. */
export function lengthOf(flight: Flight): number {
  return seqDiff(flight.end, flight.start);
}
