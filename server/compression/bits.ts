// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Bits of compressed data, read from either end.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/** The error of data that is no valid compressed text. */
export function corrupt(what: string): CodedError {
  return new CodedError("invalidArgument", `Cannot decompress: ${what}`);
}

/**
 * The bits from `start` on as a number, the first one lowest. Bits before the beginning are zero.
 *
 * @param count At most 32.
 */
function extract(bytes: Uint8Array, start: number, count: number): number {
  let value = 0;
  let taken = 0;
  let at = start;
  if (at < 0) {
    taken = Math.min(count, -at);
    at = 0;
  }
  while (taken < count) {
    const shift = at & 7;
    const width = Math.min(8 - shift, count - taken);
    const part = ((bytes[at >> 3] ?? 0) >> shift) & ((1 << width) - 1);
    value += part * 2 ** taken;
    taken += width;
    at += width;
  }
  return value;
}

/** Reads bits from the first byte on; used for tables. */
export class ForwardBits {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads the next bits. */
  read(count: number): number {
    if (this.#at + count > this.#bytes.length * 8) throw corrupt("a table is cut off");
    const value = extract(this.#bytes, this.#at, count);
    this.#at += count;
    return value;
  }

  /** Gives bits back. */
  rewind(count: number): void {
    this.#at -= count;
  }

  /** Bytes that were read, at least in part. */
  get byteLength(): number {
    return Math.ceil(this.#at / 8);
  }
}

/** Reads bits from the last byte on; used for everything else. */
export class BackwardBits {
  readonly #bytes: Uint8Array;
  /** Bits that are left; negative once more were read than there are. */
  left: number;

  /** The highest bit that is set in the last byte marks the end. */
  constructor(bytes: Uint8Array) {
    const last = bytes.at(-1) ?? 0;
    if (last === 0) throw corrupt("a stream of bits has no end mark");
    this.#bytes = bytes;
    this.left = bytes.length * 8 - (Math.clz32(last) - 24) - 1;
  }

  /** Reads the next bits; those that are missing are zero. */
  read(count: number): number {
    this.left -= count;
    return extract(this.#bytes, this.left, count);
  }

  /** The next bits without reading them. */
  peek(count: number): number {
    return extract(this.#bytes, this.left - count, count);
  }
}
