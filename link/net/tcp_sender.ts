// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The sending half of a TCP connection: the bytes that wait, and which of them go out next.
 *
 * @module
 */

import { Ring, type RingPool } from "./ring.ts";
import { Congestion } from "./tcp_congestion.ts";
import { type Flight, Flights, lengthOf } from "./tcp_flights.ts";
import { RoundTrip } from "./tcp_rtt.ts";
import { type SackBlock, seqAdd, seqDiff } from "./tcp_segment.ts";

const SMALLEST_BUFFER = 128 * 1024;
const LARGEST_BUFFER = 1024 * 1024;
/** Less room in the buffer is not worth waking a writer for. */
const SMALLEST_WRITE = 4096;

/** A piece of the stream to put into a segment. */
export interface Piece {
  readonly seq: number;
  readonly length: number;
  readonly isFin: boolean;
}

/** What an acknowledgement brought. */
export interface Acked {
  /** How far it moved on. */
  readonly bytes: number;
  /** After how many ms to look for losses again; `Infinity` for not at all. */
  readonly reorderingMs: number;
}

/** The sending half. */
export class TcpSender {
  /** The oldest byte without acknowledgement, and the next that was never sent. */
  unacked: number;
  next: number;
  /** How much the peer takes, in bytes. */
  window = 0;
  /** Whether the end of the stream follows the buffered bytes. */
  isFinQueued = false;
  isFinAcked = false;
  readonly rtt = new RoundTrip();
  readonly #congestion: Congestion;
  readonly #flights: Flights;
  readonly #mss: number;
  readonly #ring: Ring;
  #buffered = 0;
  #isFinSent = false;
  #recoveryEnd: number | undefined;
  #isAfterTimeout = false;
  #isWindowLimited = false;
  #lastSentMs = 0;
  /** Segments sent again in this recovery that the peer did not report as needless. */
  #resendsToUndo = 0;

  constructor(firstSeq: number, mss: number, pool: RingPool) {
    this.unacked = this.next = firstSeq;
    this.#mss = mss;
    this.#ring = new Ring(pool);
    this.#congestion = new Congestion(mss);
    this.#flights = new Flights(firstSeq, mss, this.rtt);
  }

  /** Whether anything waits for an acknowledgement. */
  get hasFlight(): boolean {
    return this.#flights.length > 0;
  }

  /** Whether losses are being repaired, or reported and not yet judged. */
  get isRepairing(): boolean {
    return this.#recoveryEnd !== undefined || this.#flights.sackedBytes > 0;
  }

  /** Whether something is to be sent that the peer has no room for. */
  get isBlocked(): boolean {
    return this.window === 0 && (this.#buffered > 0 || (this.isFinQueued && !this.isFinAcked));
  }

  /** How much {@linkcode push} takes. */
  get room(): number {
    const wanted = 2 * Math.floor(this.#congestion.windowBytes);
    const limit = Math.min(Math.max(wanted, SMALLEST_BUFFER), LARGEST_BUFFER);
    const room = limit - this.#buffered;
    return room < SMALLEST_WRITE ? 0 : room;
  }

  /** Bytes that were never sent. */
  get unsent(): number {
    const finLength = this.#isFinSent && !this.isFinAcked ? 1 : 0;
    return this.#buffered - seqDiff(this.next, this.unacked) + finLength;
  }

  /** The number that a segment without data bears: one that the peer's window has room for. */
  get ackSeq(): number {
    const inFlight = seqDiff(this.next, this.unacked);
    return inFlight > this.window ? seqAdd(this.unacked, this.window) : this.next;
  }

  /** Takes bytes to be sent. */
  push(data: Uint8Array): void {
    this.#ring.write(this.#buffered, data);
    this.#buffered += data.length;
  }

  /** Copies a piece of the stream. */
  copy(piece: Piece, target: Uint8Array, offset: number): void {
    this.#ring.copy(seqDiff(piece.seq, this.unacked), piece.length, target, offset);
  }

  /** The piece that may go out at this moment: lost ones first, then new ones. */
  nextPiece(nowMs: number): Piece | undefined {
    const pipe = this.#pipe();
    if (pipe === 0 && nowMs - this.#lastSentMs > this.rtt.timeoutMs) this.#congestion.idle();
    const lost = this.#flights.nextLost();
    if (lost === undefined) return this.#newPiece(pipe, nowMs);
    const isFull = pipe + lengthOf(lost) > this.#congestion.windowBytes;
    return isFull && pipe > 0 ? undefined : this.#again(lost, nowMs);
  }

  /** The piece of a loss probe: a new one if there is any, else the last one again. */
  probePiece(nowMs: number): Piece | undefined {
    const byPeer = this.window - seqDiff(this.next, this.unacked);
    const fresh = byPeer > 0 ? this.#cut(Math.min(this.#mss, byPeer), nowMs) : undefined;
    const { last } = this.#flights;
    if (fresh !== undefined || last === undefined) return fresh;
    return this.#again(last, nowMs);
  }

  /** One byte beyond a closed window, or the oldest again, to find out whether it has opened. */
  windowProbe(nowMs: number): Piece | undefined {
    const { first } = this.#flights;
    return first === undefined ? this.#cut(1, nowMs) : this.#pieceOf(first);
  }

  /** Takes an acknowledgement of something between `unacked` and `next`. */
  acknowledge(ack: number, sacks: readonly SackBlock[], nowMs: number): Acked {
    const pipeBefore = this.#pipe();
    const sackedBefore = this.#flights.sackedBytes;
    const wasRecovering = this.#recoveryEnd !== undefined;
    const bytes = seqDiff(ack, this.unacked);
    this.#flights.acknowledge(ack, nowMs);
    if (bytes > 0) this.#consume(bytes);
    const [first] = sacks;
    // A first block below the acknowledgement reports what arrived twice (RFC 2883).
    if (first !== undefined && seqDiff(first.end, ack) <= 0) this.#noteSpurious();
    for (const block of sacks) this.#flights.sack(block, nowMs);
    const delivered = bytes + this.#flights.sackedBytes - sackedBefore;
    const reorderingMs = this.detectLoss(nowMs);
    this.#adjust(delivered, bytes, pipeBefore, wasRecovering, nowMs);
    return { bytes, reorderingMs };
  }

  /** Looks for losses; returns after how many ms to look again. */
  detectLoss(nowMs: number): number {
    const isRecovering = this.#recoveryEnd !== undefined;
    const { hasLoss, waitMs } = this.#flights.detectLoss(isRecovering, nowMs);
    if (hasLoss && !isRecovering) {
      this.#recoveryEnd = this.next;
      this.#resendsToUndo = 0;
      this.#congestion.startRecovery(
        seqDiff(this.next, this.unacked) - this.#flights.sackedBytes,
      );
      this.#congestion.recover(0, this.#pipe());
    }
    return waitMs;
  }

  /** The retransmission timer expired: everything unacknowledged counts as lost. */
  timeout(): void {
    this.#flights.loseAll();
    this.#congestion.timeout(!this.#isAfterTimeout);
    this.#isAfterTimeout = true;
    this.#recoveryEnd = this.next;
    this.#resendsToUndo = 0;
    this.rtt.backOff();
  }

  /** The window was closed and has opened: probes that the peer had no room for go out again. */
  reopen(): void {
    this.#flights.loseAll();
  }

  /** Gives all memory back; nothing can be sent any more. */
  release(): void {
    this.#ring.release();
    this.#flights.clear();
    this.#buffered = 0;
    this.isFinAcked = true;
    this.unacked = this.next;
  }

  /** Bytes that are believed to be in the network. */
  #pipe(): number {
    const { sackedBytes, lostBytes, resentBytes } = this.#flights;
    return seqDiff(this.next, this.unacked) - sackedBytes - lostBytes + resentBytes;
  }

  #newPiece(pipe: number, nowMs: number): Piece | undefined {
    const wanted = Math.min(this.unsent, this.#mss);
    if (wanted <= 0 && !(this.isFinQueued && !this.#isFinSent)) return undefined;
    if (pipe > 0 && pipe + wanted > this.#congestion.windowBytes) {
      this.#isWindowLimited = true;
      return undefined;
    }
    if (wanted <= 0) return this.#cut(0, nowMs);
    const inFlight = seqDiff(this.next, this.unacked);
    const byPeer = this.window - inFlight;
    // A sliver of window is left unused while something is in flight that will open it further.
    if (byPeer <= 0 || (byPeer < wanted && inFlight > 0)) return undefined;
    return this.#cut(Math.min(wanted, byPeer), nowMs);
  }

  #cut(limit: number, nowMs: number): Piece | undefined {
    const length = Math.min(limit, this.unsent);
    const isFin = this.isFinQueued && !this.#isFinSent && length === this.unsent;
    if (length <= 0 && !isFin) return undefined;
    const seq = this.next;
    this.next = seqAdd(seq, length + (isFin ? 1 : 0));
    if (isFin) this.#isFinSent = true;
    this.#flights.add(seq, this.next, nowMs);
    this.#congestion.sent(length);
    this.#lastSentMs = nowMs;
    return { seq, length, isFin };
  }

  #again(flight: Flight, nowMs: number): Piece {
    this.#flights.resend(flight, nowMs);
    this.#congestion.sent(lengthOf(flight));
    // A probe outside a recovery is no consequence of a loss, and says nothing about the last one.
    this.#resendsToUndo = this.#recoveryEnd === undefined ? 0 : this.#resendsToUndo + 1;
    this.#lastSentMs = nowMs;
    return this.#pieceOf(flight);
  }

  #pieceOf(flight: Flight): Piece {
    const isFin = this.#isFinSent && flight.end === this.next;
    return { seq: flight.start, length: lengthOf(flight) - (isFin ? 1 : 0), isFin };
  }

  #consume(bytes: number): void {
    if (this.#isFinSent && bytes === seqDiff(this.next, this.unacked)) this.isFinAcked = true;
    const length = bytes - (this.isFinAcked ? 1 : 0);
    this.#ring.consume(length);
    this.#buffered -= length;
    this.unacked = seqAdd(this.unacked, bytes);
    if (this.#buffered === 0) this.#ring.release();
    this.rtt.resetBackoff();
  }

  /** When everything that was sent again was needless, so was slowing down. */
  #noteSpurious(): void {
    this.#flights.noteSpurious();
    if (this.#resendsToUndo === 0 || --this.#resendsToUndo > 0) return;
    this.#congestion.undo();
    this.#recoveryEnd = undefined;
    this.#isAfterTimeout = false;
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
      this.#congestion.endRecovery();
    }
    if (this.#isAfterTimeout) {
      this.#congestion.grow(bytes, this.rtt.smoothedMs, nowMs);
    } else if (this.#recoveryEnd !== undefined) {
      this.#congestion.recover(delivered, this.#pipe());
    } else if (bytes > 0 && !wasRecovering) {
      // A window that is not used says nothing about what the path would carry.
      const isUsed = this.#isWindowLimited || pipeBefore * 2 > this.#congestion.windowBytes;
      if (isUsed) this.#congestion.grow(bytes, this.rtt.smoothedMs, nowMs);
      this.#isWindowLimited = false;
    }
  }
}
