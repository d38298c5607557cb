// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What both sides of a TCP connection have agreed on in their SYNs, and the timestamps of each
 * segment (RFC 7323).
 *
 * @module
 */

import { LOCAL_MSS } from "./tcp_host.ts";
import { seqDiff, type TcpOptions, type TcpSegment, TIMESTAMPS_SIZE } from "./tcp_segment.ts";

/** Windows of up to 8 MiB can be offered. */
const WINDOW_SCALE = 7;
/** A smaller offer is read as this: segments of a few bytes would only cost. */
const SMALLEST_MSS = 536;
/** A timestamp clock that was silent for this long may have wrapped. */
const WRAP_MS = 24 * 24 * 3600 * 1000;

/** The agreement. */
export class TcpAgreement {
  /** The largest payload of a segment that we send. */
  mss = LOCAL_MSS;
  hasSack = false;
  #hasTimestamps = false;
  #peerScale = 0;
  #ownScale = 0;
  #recent = 0;
  #recentMs = 0;

  /** The options of our SYN, or of our answer to the peer's. */
  synOptions(isAnswer: boolean, nowMs: number): TcpOptions {
    const options: TcpOptions = { mss: LOCAL_MSS };
    if (!isAnswer || this.#ownScale > 0) options.windowScale = WINDOW_SCALE;
    if (!isAnswer || this.hasSack) options.isSackPermitted = true;
    if (!isAnswer || this.#hasTimestamps) options.timestamps = this.#timestamps(nowMs);
    return options;
  }

  /** Takes the peer's SYN. */
  accept({ options }: TcpSegment, nowMs: number): void {
    const { mss, windowScale, timestamps, isSackPermitted } = options;
    if (windowScale !== undefined) {
      this.#peerScale = windowScale;
      this.#ownScale = WINDOW_SCALE;
    }
    this.hasSack = isSackPermitted ?? false;
    this.#hasTimestamps = timestamps !== undefined;
    if (timestamps !== undefined) this.#set(timestamps.value, nowMs);
    const offered = Math.max(SMALLEST_MSS, Math.min(mss ?? SMALLEST_MSS, LOCAL_MSS));
    this.mss = offered - (this.#hasTimestamps ? TIMESTAMPS_SIZE : 0);
  }

  /** The options that each segment carries. */
  options(nowMs: number): TcpOptions {
    return this.#hasTimestamps ? { timestamps: this.#timestamps(nowMs) } : {};
  }

  /** The peer's window of a segment without SYN, in bytes. */
  peerWindow(segment: TcpSegment): number {
    return segment.window << this.#peerScale;
  }

  /** Our window, as it goes on the wire. */
  wireWindow(bytes: number): number {
    return Math.min(bytes >>> this.#ownScale, 0xffff);
  }

  /** Whether a segment is one of long ago that comes back with a number that is valid again. */
  isOld({ options: { timestamps } }: TcpSegment, nowMs: number): boolean {
    if (!this.#hasTimestamps || timestamps === undefined) return false;
    return seqDiff(timestamps.value, this.#recent) < 0 && nowMs - this.#recentMs < WRAP_MS;
  }

  /** Takes over the timestamp of a segment that was found good. */
  note(segment: TcpSegment, lastAckSent: number, nowMs: number): void {
    const { timestamps } = segment.options;
    if (!this.#hasTimestamps || timestamps === undefined) return;
    // Only what covers the last acknowledgement counts, or delayed ones would look too short.
    if (seqDiff(segment.seq, lastAckSent) > 0 || this.isOld(segment, nowMs)) return;
    this.#set(timestamps.value, nowMs);
  }

  /** How long ago we sent what this segment answers, in ms; `undefined` when it does not say. */
  echoAgeMs({ options: { timestamps } }: TcpSegment, nowMs: number): number | undefined {
    if (!this.#hasTimestamps || timestamps === undefined || timestamps.echo === 0) return undefined;
    return Math.max(0, seqDiff(clockOf(nowMs), timestamps.echo));
  }

  /** Whether a SYN belongs to a later connection than this one (RFC 6191). */
  isLater({ seq, options: { timestamps } }: TcpSegment, nextSeq: number): boolean {
    if (this.#hasTimestamps && timestamps !== undefined) {
      return seqDiff(timestamps.value, this.#recent) > 0;
    }
    return seqDiff(seq, nextSeq) > 0;
  }

  #set(value: number, nowMs: number): void {
    this.#recent = value;
    this.#recentMs = nowMs;
  }

  #timestamps(nowMs: number): { value: number; echo: number } {
    return { value: clockOf(nowMs), echo: this.#recent };
  }
}

function clockOf(nowMs: number): number {
  return Math.floor(nowMs) % 0x1_0000_0000;
}
