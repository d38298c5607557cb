// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The sending half of a TCP connection: the bytes that wait, and which of them go out next.
 *
 * @module
 */

import { NEVER } from "../timers.ts";
import { Ring, type RingPool } from "./ring.ts";
import { Congestion } from "./tcp_congestion.ts";
import { type Flight, Flights, lengthOf } from "./tcp_flights.ts";
import { Pacing } from "./tcp_pacing.ts";
import { RoundTrip } from "./tcp_rtt.ts";
import { SlowStart } from "./tcp_slow_start.ts";
import { type SackBlock, seqAdd, seqDiff } from "./tcp_segment.ts";

const SMALLEST_BUFFER = 128 * 1024;
const LARGEST_BUFFER = 1024 * 1024;
/** Less room in the buffer is not worth waking a writer for. */
const SMALLEST_WRITE = 4096;
/** A window of which less was in flight says nothing about what the path would carry. */
const USED_PART = 0.75;
/** Times that the peer echoes are as fine as this. */
const CLOCK_MS = 1;

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
  readonly #pacing = new Pacing();
  readonly #slowStart = new SlowStart();
  #buffered = 0;
  #isFinSent = false;
  #recoveryEnd: number | undefined;
  #isAfterTimeout = false;
  #isWindowLimited = false;
  #lastSentMs = 0;
  /** Segments sent again in this recovery that the peer did not report as needless. */
  #resendsToUndo = 0;
  /** When the first of them went out, and which numbers they span. */
  #firstResendMs = 0;
  #resentStart = 0;
  #resentEnd = 0;

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

  /** When to ask for the next piece again, in ms of the clock, if one is only held back until then. */
  get paceMs(): number {
    const hasPiece = this.unsent > 0 || this.#flights.nextLost() !== undefined;
    return hasPiece ? this.#pacing.nextMs : NEVER;
  }

  /** The piece that may go out at this moment: lost ones first, then new ones. */
  nextPiece(nowMs: number): Piece | undefined {
    if (this.#pacing.isHeld(nowMs)) return undefined;
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

  /**
   * Takes an acknowledgement of something between `unacked` and `next`.
   *
   * @param echoMs When we sent what it answers; absent when it does not say.
   */
  acknowledge(
    ack: number,
    sacks: readonly SackBlock[],
    nowMs: number,
    echoMs: number | undefined = undefined,
  ): Acked {
    const pipeBefore = this.#pipe();
    const sackedBefore = this.#flights.sackedBytes;
    const wasRecovering = this.#recoveryEnd !== undefined;
    const bytes = seqDiff(ack, this.unacked);
    this.#flights.acknowledge(ack, nowMs);
    if (bytes > 0) this.#consume(bytes);
    const [first] = sacks;
    // A first block below the acknowledgement reports what arrived twice (RFC 2883).
    if (first !== undefined && seqDiff(first.end, ack) <= 0) this.#noteSpurious(first);
    if (bytes > 0 && echoMs !== undefined && this.#isAnsweredByFirst(ack, echoMs)) this.#undo();
    for (const block of sacks) this.#flights.sack(block, nowMs);
    const delivered = bytes + this.#flights.sackedBytes - sackedBefore;
    const reorderingMs = this.detectLoss(nowMs);
    const isOver = this.#slowStart.noteAck(ack, this.next, this.rtt.takeLatest());
    if (isOver && this.#congestion.isSlowStart) this.#congestion.endSlowStart();
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
    this.#pacing.reset();
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
    this.#noteSent(length, nowMs);
    return { seq, length, isFin };
  }

  #again(flight: Flight, nowMs: number): Piece {
    this.#flights.resend(flight, nowMs);
    this.#noteSent(lengthOf(flight), nowMs);
    // A probe outside a recovery is no consequence of a loss, and says nothing about the last one.
    if (this.#recoveryEnd === undefined) this.#resendsToUndo = 0;
    else this.#noteResend(flight, nowMs);
    return this.#pieceOf(flight);
  }

  #noteSent(bytes: number, nowMs: number): void {
    const { targetBytes, isSlowStart } = this.#congestion;
    this.#congestion.sent(bytes);
    const window = Math.min(targetBytes, Math.max(this.window, this.#mss));
    this.#pacing.sent(bytes, window, isSlowStart, this.rtt.smoothedMs, nowMs);
    this.#lastSentMs = nowMs;
  }

  #noteResend({ start, end }: Flight, nowMs: number): void {
    if (this.#resendsToUndo++ === 0) {
      this.#firstResendMs = nowMs;
      this.#resentStart = start;
      this.#resentEnd = end;
    }
    if (seqDiff(start, this.#resentStart) < 0) this.#resentStart = start;
    if (seqDiff(end, this.#resentEnd) > 0) this.#resentEnd = end;
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
  #noteSpurious({ start }: SackBlock): void {
    this.#flights.noteSpurious();
    // What was sent again before this recovery says nothing about it.
    if (this.#resendsToUndo === 0 || seqDiff(start, this.#resentStart) < 0) return;
    if (--this.#resendsToUndo === 0) this.#undo();
  }

  /**
   * Whether everything that was sent again in this recovery had arrived before, only late: the answer
   * bears the time of something that was sent earlier (Eifel detection, RFC 3522).
   */
  #isAnsweredByFirst(ack: number, echoMs: number): boolean {
    return this.#recoveryEnd !== undefined && !this.#isAfterTimeout && this.#resendsToUndo > 0 &&
      seqDiff(ack, this.#resentEnd) >= 0 && echoMs < this.#firstResendMs - CLOCK_MS;
  }

  #undo(): void {
    this.#flights.noteReordering();
    this.#congestion.undo();
    this.#resendsToUndo = 0;
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
      const isUsed = this.#isWindowLimited || pipeBefore > USED_PART * this.#congestion.windowBytes;
      if (isUsed) {
        this.#congestion.grow(bytes, this.rtt.smoothedMs, nowMs, this.#slowStart.divisor);
      }
      this.#isWindowLimited = false;
    }
  }
}
