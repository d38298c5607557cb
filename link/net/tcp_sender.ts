// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The sending half of a TCP connection: what is in flight, what is lost (RACK-TLP, RFC 8985), and
 * what goes out next.
 *
 * @module
 */

import { Congestion } from "./tcp_congestion.ts";
import { Ring } from "./ring.ts";
import { RoundTrip } from "./tcp_rtt.ts";
import { type SackBlock, seqAdd, seqDiff } from "./tcp_segment.ts";

/** Acknowledgements beyond a gap that mean loss at once, as long as no reordering was seen. */
const DUPLICATE_THRESHOLD = 3;
const EARLIEST = -Infinity;

interface Flight {
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

/** A piece of the stream to put into a segment. */
export interface Piece {
  readonly seq: number;
  readonly length: number;
  readonly isFin: boolean;
}

/** What an acknowledgement brought. */
export interface Acked {
  /** Bytes that left the buffer. */
  readonly bytes: number;
  /** In ms, when something is still unacknowledged but too young to be lost; else `Infinity`. */
  readonly reorderingMs: number;
}

/** The sending half. */
export class TcpSender {
  /** The oldest byte without acknowledgement, and the next that was never sent. */
  unacked: number;
  next: number;
  /** How much the peer takes, in bytes. */
  window = 0;
  /** Bytes in the buffer, from `unacked` on. */
  buffered = 0;
  /** Whether the end of the stream follows the buffered bytes. */
  isFinQueued = false;
  isFinSent = false;
  isFinAcked = false;
  readonly rtt = new RoundTrip();
  readonly congestion: Congestion;
  readonly #mss: number;
  readonly #ring: Ring;
  #flights: Flight[] = [];
  #sackedBytes = 0;
  #lostBytes = 0;
  #resentBytes = 0;
  #recoveryEnd: number | undefined;
  #isAfterTimeout = false;
  #isWindowLimited = false;
  #rackSentMs = EARLIEST;
  #rackEnd: number;
  #rackRttMs = 0;
  #highestSacked: number;
  #hasReordering = false;
  #reorderingSteps = 1;
  #lastSentMs = 0;

  constructor(firstSeq: number, mss: number, onResize?: (bytes: number) => void) {
    this.unacked =
      this.next =
      this.#rackEnd =
      this.#highestSacked =
        firstSeq;
    this.#mss = mss;
    this.#ring = new Ring(onResize);
    this.congestion = new Congestion(mss);
  }

  /** Whether anything waits for an acknowledgement. */
  get hasFlight(): boolean {
    return this.#flights.length > 0;
  }

  /** Whether losses are being repaired. */
  get isRecovering(): boolean {
    return this.#recoveryEnd !== undefined;
  }

  /** Whether the peer reported segments beyond a gap. */
  get hasSacked(): boolean {
    return this.#sackedBytes > 0;
  }

  /** Bytes that are believed to be in the network. */
  get pipe(): number {
    return seqDiff(this.next, this.unacked) - this.#sackedBytes - this.#lostBytes +
      this.#resentBytes;
  }

  /** Bytes that were never sent. */
  get unsent(): number {
    const finLength = this.isFinSent && !this.isFinAcked ? 1 : 0;
    return this.buffered - seqDiff(this.next, this.unacked) + finLength;
  }

  /** Takes bytes to be sent. */
  push(data: Uint8Array): void {
    this.#ring.write(this.buffered, data);
    this.buffered += data.length;
  }

  /** Copies a piece of the stream. */
  copy(piece: Piece, target: Uint8Array, offset: number): void {
    this.#ring.copy(seqDiff(piece.seq, this.unacked), piece.length, target, offset);
  }

  /** The piece that may go out at this moment: lost ones first, then new ones. */
  nextPiece(nowMs: number): Piece | undefined {
    if (this.pipe === 0 && nowMs - this.#lastSentMs > this.rtt.timeoutMs) this.congestion.idle();
    if (this.#lostBytes > this.#resentBytes) {
      const lost = this.#flights.find((flight) => flight.isLost && !flight.isResent);
      if (lost !== undefined) {
        if (this.pipe + seqDiff(lost.end, lost.start) > this.congestion.windowBytes) {
          if (this.pipe > 0) return undefined;
        }
        return this.#resend(lost, nowMs);
      }
    }
    return this.#newPiece(nowMs);
  }

  /** The piece of a loss probe: a new one if there is any, else the last one again. */
  probePiece(nowMs: number): Piece | undefined {
    const fresh = this.#cut(this.#mss, nowMs);
    if (fresh !== undefined) return fresh;
    const last = this.#flights.at(-1);
    if (last === undefined) return undefined;
    last.sentMs = nowMs;
    last.wasResent = true;
    return this.#pieceOf(last);
  }

  /** One byte beyond a closed window, or the oldest again, to find out whether it has opened. */
  windowProbe(nowMs: number): Piece | undefined {
    const oldest = this.#flights[0];
    return oldest === undefined ? this.#cut(1, nowMs) : this.#pieceOf(oldest);
  }

  /** Takes an acknowledgement of something between `unacked` and `next`. */
  acknowledge(ack: number, sacks: readonly SackBlock[], nowMs: number): Acked {
    const before = this.pipe;
    const wasRecovering = this.isRecovering;
    const sackedBefore = this.#sackedBytes;
    const bytes = seqDiff(ack, this.unacked);
    let sampleMs = Infinity;
    let count = 0;
    for (const flight of this.#flights) {
      if (seqDiff(flight.end, ack) > 0) break;
      count++;
      if (!flight.isSacked) {
        this.#noteDelivered(flight, nowMs);
        if (!flight.wasResent) sampleMs = nowMs - flight.sentMs;
      }
      this.#uncount(flight);
    }
    if (count > 0) this.#flights.splice(0, count);
    if (bytes > 0) this.#consume(bytes);
    this.#noteDuplicate(sacks[0], ack);
    for (const block of sacks) this.#sack(block, nowMs);
    if (sampleMs !== Infinity) this.rtt.add(sampleMs);
    const delivered = bytes + this.#sackedBytes - sackedBefore;
    this.#trimHead();
    const reorderingMs = this.detectLoss(nowMs);
    this.#adjust(delivered, bytes, before, wasRecovering, nowMs);
    return { bytes, reorderingMs };
  }

  /** Marks as lost what was sent long enough before something that arrived; see {@linkcode Acked}. */
  detectLoss(nowMs: number): number {
    if (this.#rackSentMs === EARLIEST) return Infinity;
    const graceMs = this.#rackRttMs + this.#reorderingWindowMs();
    let waitMs = Infinity;
    let hasNewLoss = false;
    for (const flight of this.#flights) {
      if (flight.isSacked || (flight.isLost && !flight.isResent)) continue;
      const isBefore = flight.sentMs < this.#rackSentMs ||
        (flight.sentMs === this.#rackSentMs && seqDiff(flight.end, this.#rackEnd) < 0);
      if (!isBefore) continue;
      const leftMs = flight.sentMs + graceMs - nowMs;
      if (leftMs > 0) waitMs = Math.min(waitMs, Math.max(leftMs, 1));
      else {
        this.#markLost(flight);
        hasNewLoss = true;
      }
    }
    if (hasNewLoss && !this.isRecovering) {
      this.#recoveryEnd = this.next;
      this.congestion.startRecovery(seqDiff(this.next, this.unacked) - this.#sackedBytes);
      this.congestion.recover(0, this.pipe);
    }
    return waitMs;
  }

  /** The retransmission timer expired: everything unacknowledged counts as lost. */
  timeout(): void {
    for (const flight of this.#flights) if (!flight.isSacked) this.#markLost(flight);
    this.congestion.timeout(!this.#isAfterTimeout);
    this.#isAfterTimeout = true;
    this.#recoveryEnd = this.next;
    this.rtt.backOff();
  }

  /** The window was closed and has opened: probes that the peer had no room for go out again. */
  reopen(): void {
    for (const flight of this.#flights) if (!flight.isSacked) this.#markLost(flight);
  }

  /** Gives all memory back; nothing can be sent any more. */
  release(): void {
    this.#ring.release();
    this.#flights = [];
    this.buffered = 0;
    this.#sackedBytes = this.#lostBytes = this.#resentBytes = 0;
    this.next = this.unacked;
  }

  #newPiece(nowMs: number): Piece | undefined {
    const inFlight = seqDiff(this.next, this.unacked);
    const byCongestion = this.congestion.windowBytes - this.pipe;
    const byPeer = this.window - inFlight;
    const wanted = Math.min(this.unsent, this.#mss);
    const isFinOnly = wanted === 0 && this.isFinQueued && !this.isFinSent;
    if (wanted <= 0 && !isFinOnly) return undefined;
    if (byCongestion < wanted && this.pipe > 0) {
      this.#isWindowLimited = true;
      return undefined;
    }
    if (isFinOnly) return this.#cut(0, nowMs);
    // A sliver of window is left unused while something is in flight that will open it further.
    if (byPeer < wanted && inFlight > 0) return undefined;
    return byPeer <= 0 ? undefined : this.#cut(Math.min(wanted, byPeer), nowMs);
  }

  #cut(limit: number, nowMs: number): Piece | undefined {
    const length = Math.min(limit, this.unsent);
    const isFin = this.isFinQueued && !this.isFinSent && length === this.unsent;
    if (length <= 0 && !isFin) return undefined;
    const start = this.next;
    const end = seqAdd(start, length + (isFin ? 1 : 0));
    this.next = end;
    if (isFin) this.isFinSent = true;
    this.#flights.push({
      start,
      end,
      sentMs: nowMs,
      isSacked: false,
      isLost: false,
      isResent: false,
      wasResent: false,
    });
    this.congestion.sent(length);
    this.#lastSentMs = nowMs;
    return { seq: start, length, isFin };
  }

  #resend(flight: Flight, nowMs: number): Piece {
    flight.isResent = true;
    flight.wasResent = true;
    flight.sentMs = nowMs;
    const length = seqDiff(flight.end, flight.start);
    this.#resentBytes += length;
    this.congestion.sent(length);
    this.#lastSentMs = nowMs;
    return this.#pieceOf(flight);
  }

  #pieceOf(flight: Flight): Piece {
    const isFin = this.isFinSent && flight.end === this.next;
    return {
      seq: flight.start,
      length: seqDiff(flight.end, flight.start) - (isFin ? 1 : 0),
      isFin,
    };
  }

  #consume(bytes: number): void {
    if (this.isFinSent && bytes === seqDiff(this.next, this.unacked)) this.isFinAcked = true;
    const data = bytes - (this.isFinAcked ? 1 : 0);
    this.#ring.consume(data);
    this.buffered -= data;
    this.unacked = seqAdd(this.unacked, bytes);
    if (this.buffered === 0) this.#ring.release();
    if (seqDiff(this.#highestSacked, this.unacked) < 0) this.#highestSacked = this.unacked;
    this.rtt.resetBackoff();
  }

  /** A segment that was acknowledged in part begins at what is left of it. */
  #trimHead(): void {
    const first = this.#flights[0];
    if (first === undefined || seqDiff(first.start, this.unacked) >= 0) return;
    this.#uncount(first);
    const rest: Flight = { ...first, start: this.unacked };
    this.#flights[0] = rest;
    const length = seqDiff(rest.end, rest.start);
    if (rest.isSacked) this.#sackedBytes += length;
    if (rest.isLost) this.#lostBytes += length;
    if (rest.isResent) this.#resentBytes += length;
  }

  #sack(block: SackBlock, nowMs: number): void {
    if (seqDiff(block.start, this.unacked) < 0 || seqDiff(block.end, this.next) > 0) return;
    if (seqDiff(block.end, block.start) <= 0) return;
    for (let i = this.#firstFrom(block.start); i < this.#flights.length; i++) {
      const flight = this.#flights[i];
      if (flight === undefined || seqDiff(flight.end, block.end) > 0) break;
      if (flight.isSacked) continue;
      this.#noteDelivered(flight, nowMs);
      this.#uncount(flight);
      flight.isSacked = true;
      flight.isLost = flight.isResent = false;
      this.#sackedBytes += seqDiff(flight.end, flight.start);
      if (seqDiff(flight.end, this.#highestSacked) > 0) this.#highestSacked = flight.end;
    }
  }

  #firstFrom(seq: number): number {
    let low = 0;
    let high = this.#flights.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (seqDiff((this.#flights[middle] as Flight).start, seq) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #noteDelivered(flight: Flight, nowMs: number): void {
    const rttMs = nowMs - flight.sentMs;
    if (flight.wasResent && rttMs < this.rtt.minMs) return;
    if (!flight.wasResent && seqDiff(flight.end, this.#highestSacked) < 0) {
      this.#hasReordering = true;
    }
    this.#rackRttMs = rttMs;
    const isLater = flight.sentMs > this.#rackSentMs ||
      (flight.sentMs === this.#rackSentMs && seqDiff(flight.end, this.#rackEnd) > 0);
    if (!isLater) return;
    this.#rackSentMs = flight.sentMs;
    this.#rackEnd = flight.end;
  }

  /** A block at or below the acknowledgement reports a segment that arrived twice (RFC 2883). */
  #noteDuplicate(block: SackBlock | undefined, ack: number): void {
    if (block === undefined || seqDiff(block.end, ack) > 0) return;
    // Sent again without need: more patience with what looks lost.
    this.#reorderingSteps = Math.min(this.#reorderingSteps + 1, 16);
  }

  #reorderingWindowMs(): number {
    if (!this.#hasReordering) {
      const isSure = this.isRecovering ||
        this.#sackedBytes >= DUPLICATE_THRESHOLD * this.#mss;
      if (isSure) return 0;
    }
    const quarterMs = this.rtt.minMs === Infinity ? 0 : this.rtt.minMs / 4;
    return Math.min(this.#reorderingSteps * quarterMs, this.rtt.smoothedMs);
  }

  #markLost(flight: Flight): void {
    const length = seqDiff(flight.end, flight.start);
    if (flight.isResent) this.#resentBytes -= length;
    flight.isResent = false;
    if (!flight.isLost) this.#lostBytes += length;
    flight.isLost = true;
  }

  #uncount(flight: Flight): void {
    const length = seqDiff(flight.end, flight.start);
    if (flight.isSacked) this.#sackedBytes -= length;
    if (flight.isLost) this.#lostBytes -= length;
    if (flight.isResent) this.#resentBytes -= length;
  }

  #adjust(
    delivered: number,
    bytes: number,
    pipeBefore: number,
    wasRecovering: boolean,
    nowMs: number,
  ): void {
    if (this.#recoveryEnd !== undefined && seqDiff(this.unacked, this.#recoveryEnd) >= 0) {
      this.#recoveryEnd = undefined;
      this.#isAfterTimeout = false;
      this.congestion.endRecovery();
    }
    if (this.#isAfterTimeout) {
      this.congestion.grow(bytes, this.rtt.smoothedMs, nowMs);
    } else if (this.isRecovering) {
      this.congestion.recover(delivered, this.pipe);
    } else if (bytes > 0 && !wasRecovering) {
      const isLimited = this.#isWindowLimited || pipeBefore * 2 > this.congestion.windowBytes;
      if (isLimited) this.congestion.grow(bytes, this.rtt.smoothedMs, nowMs);
      this.#isWindowLimited = false;
    }
  }
}
