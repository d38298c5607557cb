// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The receiving side of a connection: reads bytes and cuts them into frames, without copying them.
 *
 * A silent connection waits with a small buffer. A read that fills its buffer makes the next one
 * large, a small read makes it small again.
 *
 * @module
 */

import { giveBuffer, takeBuffer } from "./buffers.ts";
import { FRAME_HEADER_BYTES } from "./frames.ts";
import type { ByteStream } from "./stream.ts";

/** Takes a frame; its payload is `buffer[start…end)` and only valid during the call. */
export type FrameHandler = (
  type: number,
  flags: number,
  streamId: number,
  buffer: Uint8Array,
  start: number,
  end: number,
) => void;

/** All whole frames that were read have been handled. */
const ALL_PARSED = -1;

/** There may be more whole frames. */
export const MORE_TO_PARSE = -2;

// The clock is looked at after 16 small frames or a large one: headers of 16 KiB that refer to a
// table are half a millisecond of work.
const WEIGHT_BETWEEN_LOOKS = 2 * 1024;
const FRAME_WEIGHT = 128;

// A usual request or reply fits.
const SMALL_BYTES = 1024;
const LARGE_BYTES = 64 * 1024;
const LARGEST_BYTES = 256 * 1024;

/** Reads from a stream and remembers what has not been used yet. */
export class FrameReader {
  readonly #stream: ByteStream;
  #buffer: Uint8Array;
  #start = 0;
  #end = 0;
  #wanted = SMALL_BYTES;

  constructor(stream: ByteStream) {
    this.#stream = stream;
    this.#buffer = takeBuffer(SMALL_BYTES);
  }

  /** What was read and not used yet. */
  get unread(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** How much was read and not used yet. */
  get unreadBytes(): number {
    return this.#end - this.#start;
  }

  /** Marks bytes of {@linkcode unread} as used. */
  skip(bytes: number): void {
    this.#start += bytes;
  }

  /** Reads once and resolves to the number of bytes, `null` at the end of the stream. */
  async read(): Promise<number | null> {
    this.#makeRoom();
    const room = this.#buffer.length - this.#end;
    const count = await this.#stream.read(this.#buffer.subarray(this.#end));
    if (count === null) return null;
    this.#end += count;
    if (count === room) this.#wanted = room < LARGE_BYTES / 2 ? LARGE_BYTES : LARGEST_BYTES;
    else if (count < SMALL_BYTES / 2) this.#wanted = SMALL_BYTES;
    return count;
  }

  /**
   * Hands on whole frames that are there, until about `untilMs` of `performance.now()`, and returns
   * {@linkcode ALL_PARSED} or {@linkcode MORE_TO_PARSE}. A frame longer than `maxBytes` is not waited
   * for: its length is returned.
   */
  parse(maxBytes: number, untilMs: number, handle: FrameHandler): number {
    const buffer = this.#buffer;
    let weight = 0;
    while (this.#end - this.#start >= FRAME_HEADER_BYTES) {
      if (weight >= WEIGHT_BETWEEN_LOOKS) {
        weight = 0;
        if (performance.now() > untilMs) return MORE_TO_PARSE;
      }
      const at = this.#start;
      const length = ((buffer[at] as number) << 16) | ((buffer[at + 1] as number) << 8) |
        (buffer[at + 2] as number);
      if (length > maxBytes) return length;
      const frameEnd = at + FRAME_HEADER_BYTES + length;
      if (frameEnd > this.#end) {
        if (FRAME_HEADER_BYTES + length > this.#wanted) this.#wanted = LARGE_BYTES;
        break;
      }
      this.#start = frameEnd;
      weight += length + FRAME_WEIGHT;
      const streamId = (((buffer[at + 5] as number) & 0x7f) << 24) |
        ((buffer[at + 6] as number) << 16) | ((buffer[at + 7] as number) << 8) |
        (buffer[at + 8] as number);
      handle(
        buffer[at + 3] as number,
        buffer[at + 4] as number,
        streamId,
        buffer,
        at + FRAME_HEADER_BYTES,
        frameEnd,
      );
    }
    return ALL_PARSED;
  }

  /** Gives the buffer back; only after the last read has settled. */
  release(): void {
    giveBuffer(this.#buffer);
    this.#buffer = EMPTY;
    this.#start = this.#end = 0;
  }

  #makeRoom(): void {
    const rest = this.#end - this.#start;
    const size = Math.max(this.#wanted, rest + SMALL_BYTES / 2);
    if (this.#buffer.length !== size && !(size < this.#buffer.length && rest > 0)) {
      const next = takeBuffer(size);
      next.set(this.#buffer.subarray(this.#start, this.#end));
      giveBuffer(this.#buffer);
      this.#buffer = next;
    } else if (rest > 0 && this.#start > 0) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
    }
    this.#start = 0;
    this.#end = rest;
  }
}

const EMPTY = new Uint8Array(0);
