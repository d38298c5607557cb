// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The receiving half of a TCP connection: reassembly, the window that is offered, and what is
 * reported of segments beyond a gap.
 *
 * @module
 */

import { Ring, type RingPool } from "./ring.ts";
import { FIN, type SackBlock, seqAdd, seqDiff, SYN, type TcpSegment } from "./tcp_segment.ts";

/** Gaps that are remembered; segments beyond more of them are dropped and come again. */
const MAX_RANGES = 64;
const MAX_SACK_BLOCKS = 3;

/** What became of a segment. */
export type Received = "inOrder" | "outOfOrder" | "duplicate" | "refused";

/** The receiving half. */
export class TcpReceiver {
  /** The next byte that is expected. */
  nextSeq: number;
  /** Bytes in order that were not read yet. */
  available = 0;
  /** The largest window that is offered; it only grows. */
  maxWindow: number;
  #edge: number;
  #finSeq: number | undefined;
  #duplicate: SackBlock | undefined;
  /** Ranges beyond a gap: apart from each other, in order. */
  #ranges: SackBlock[] = [];
  /** The range that the latest segment went into; it is reported first. */
  #latest: SackBlock | undefined;
  readonly #ring: Ring;

  constructor(firstSeq: number, maxWindow: number, pool: RingPool) {
    this.nextSeq = firstSeq;
    this.maxWindow = maxWindow;
    this.#edge = seqAdd(firstSeq, maxWindow);
    this.#ring = new Ring(pool);
  }

  /** How much the peer may send, as last offered. */
  get window(): number {
    return seqDiff(this.#edge, this.nextSeq);
  }

  /** Whether segments beyond a gap are held. */
  get hasGap(): boolean {
    return this.#ranges.length > 0;
  }

  /** Whether the peer's end was reached: nothing more will come. */
  get isFinished(): boolean {
    return this.#finSeq !== undefined && seqDiff(this.nextSeq, this.#finSeq) > 0;
  }

  /** Offers as much as there is room for; what was offered is never taken back. */
  updateWindow(): number {
    const edge = seqAdd(this.nextSeq, Math.max(0, this.maxWindow - this.available));
    if (seqDiff(edge, this.#edge) > 0) this.#edge = edge;
    return this.window;
  }

  /** How much {@linkcode updateWindow} would add. */
  get windowGain(): number {
    return this.maxWindow - this.available - this.window;
  }

  /**
   * Whether a segment lies in the window (RFC 9293 section 3.10.7.4).
   *
   * One that begins right behind it counts too: its acknowledgement is valid when its data is not,
   * and two sides with closed windows would otherwise never hear of each other's progress.
   */
  isAcceptable({ seq, flags, payload }: TcpSegment): boolean {
    const length = payload.length + (flags & FIN ? 1 : 0) + (flags & SYN ? 1 : 0);
    const start = seqDiff(seq, this.nextSeq);
    return start <= this.window && (length === 0 ? start >= 0 : start + length > 0);
  }

  /** Takes the data of a segment that was found acceptable. */
  accept(seq: number, payload: Uint8Array, isFin: boolean): Received {
    const end = seqAdd(seq, payload.length);
    let offset = seqDiff(seq, this.nextSeq);
    if (isFin && this.#finSeq === undefined && seqDiff(end, this.nextSeq) >= 0) {
      this.#finSeq = end;
    }
    let data = payload;
    if (offset < 0) {
      if (-offset >= data.length && !(isFin && -offset === data.length && !this.isFinished)) {
        if (data.length > 0) this.#duplicate = { start: seq, end };
        return "duplicate";
      }
      data = data.subarray(-offset);
      offset = 0;
    }
    const room = this.window - offset;
    const isWhole = data.length <= room;
    if (!isWhole) data = data.subarray(0, Math.max(0, room));
    if (data.length === 0 && !isFin) return "refused";
    // Of ends that contradict each other the first one counts.
    if (offset > 0) return this.#keep(offset, data, isFin && isWhole && end === this.#finSeq);
    this.#ring.write(this.available, data);
    this.#advance(data.length);
    this.#mergeRanges();
    if (this.#finSeq === this.nextSeq) this.nextSeq = seqAdd(this.nextSeq, 1);
    return "inOrder";
  }

  /** Moves bytes to the reader; returns how many. */
  read(target: Uint8Array): number {
    const length = Math.min(target.length, this.available);
    this.#ring.copy(0, length, target, 0);
    this.#ring.consume(length);
    this.available -= length;
    if (this.available === 0 && this.#ranges.length === 0) this.#ring.release();
    return length;
  }

  /** The blocks to report: a duplicate, the latest range, then others. */
  sackBlocks(): SackBlock[] {
    const blocks: SackBlock[] = [];
    if (this.#duplicate !== undefined) blocks.push(this.#duplicate);
    this.#duplicate = undefined;
    if (this.#latest !== undefined) blocks.push(this.#latest);
    for (let i = this.#ranges.length - 1; i >= 0 && blocks.length < MAX_SACK_BLOCKS; i--) {
      const range = this.#ranges[i];
      if (range !== undefined && range !== this.#latest) blocks.push(range);
    }
    return blocks;
  }

  /** Whether the next acknowledgement has blocks to report. */
  get hasReport(): boolean {
    return this.#duplicate !== undefined || this.#ranges.length > 0;
  }

  /** A segment came that was not acceptable because all of it had arrived before. */
  noteDuplicate(seq: number, length: number): void {
    const end = seqAdd(seq, length);
    if (seqDiff(end, this.nextSeq) <= 0) this.#duplicate = { start: seq, end };
  }

  /** Gives all memory back; what was not read is lost. */
  release(): void {
    this.#ring.release();
    this.#ranges = [];
    this.#latest = undefined;
    this.available = 0;
  }

  #advance(length: number): void {
    this.nextSeq = seqAdd(this.nextSeq, length);
    this.available += length;
  }

  #mergeRanges(): void {
    while (true) {
      const first = this.#ranges[0];
      if (first === undefined || seqDiff(first.start, this.nextSeq) > 0) break;
      this.#ranges.shift();
      if (first === this.#latest) this.#latest = undefined;
      // An end takes up a number, but no room in the buffer.
      const fin = this.#finSeq;
      const dataEnd = fin !== undefined && seqDiff(first.end, fin) > 0 ? fin : first.end;
      const beyond = seqDiff(dataEnd, this.nextSeq);
      if (beyond > 0) this.#advance(beyond);
    }
  }

  #keep(offset: number, data: Uint8Array, isFin: boolean): Received {
    const start = seqAdd(this.nextSeq, offset);
    const end = seqAdd(start, data.length + (isFin ? 1 : 0));
    if (start === end) return "outOfOrder";
    const ranges = this.#ranges;
    // The first range that ends at or behind our start, and the first that starts behind our end.
    let from = 0;
    while (from < ranges.length && seqDiff((ranges[from] as SackBlock).end, start) < 0) from++;
    let to = from;
    while (to < ranges.length && seqDiff((ranges[to] as SackBlock).start, end) <= 0) to++;
    const first = ranges[from];
    const last = ranges[to - 1];
    if (from === to && ranges.length >= MAX_RANGES) return "refused";
    if (
      from + 1 === to && first !== undefined && seqDiff(first.start, start) <= 0 &&
      seqDiff(first.end, end) >= 0
    ) {
      this.#duplicate = { start, end };
      return "duplicate";
    }
    this.#ring.write(this.available + offset, data);
    const merged = from === to || first === undefined || last === undefined ? { start, end } : {
      start: seqDiff(first.start, start) < 0 ? first.start : start,
      end: seqDiff(last.end, end) > 0 ? last.end : end,
    };
    ranges.splice(from, to - from, merged);
    this.#latest = merged;
    return "outOfOrder";
  }
}
