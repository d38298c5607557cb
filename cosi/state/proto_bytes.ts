// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reading and writing of protobuf fields on plain byte arrays.
 *
 * The state passes resources through as bytes, and a message library that builds an object for each
 * field costs several times the rest of a call; these few functions are what the hot path needs.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { CodedError } from "../../base/errors.ts";

/** Wire types of protobuf. */
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Strings up to this length are converted here; the call into the runtime costs more than they do. */
const SHORT_STRING = 48;

/** Up to this length it is worth to look whether a string is ASCII. */
const LONG_STRING = 1024;

function malformed(what: string): CodedError {
  return new CodedError("invalidArgument", `Malformed protobuf message: ${what}`);
}

/** How many bytes a varint takes; `value` is a whole number from 0 to 2^53. */
export function varintSize(value: number): number {
  let size = 1;
  while (value >= 0x80) {
    value = Math.floor(value / 0x80);
    size++;
  }
  return size;
}

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** Writes a varint and returns the position after it. */
export function writeVarint(buffer: Uint8Array, at: number, value: number): number {
  while (value >= 0x80) {
    // The remainder, not a bit mask: bit operations would cut the value to 32 bits.
    buffer[at++] = (value % 0x80) | 0x80;
    value = Math.floor(value / 0x80);
  }
  buffer[at++] = value;
  return at;
}

/** Writes a 64-bit varint, negative numbers as their two's complement. */
export function writeVarint64(buffer: Uint8Array, at: number, value: bigint): number {
  if (value >= 0n && value <= SAFE) return writeVarint(buffer, at, Number(value));
  let rest = BigInt.asUintN(64, value);
  while (rest >= 0x80n) {
    buffer[at++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  buffer[at++] = Number(rest);
  return at;
}

/** How many bytes a string takes in UTF-8. */
export function utf8Size(text: string): number {
  let size = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) size += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      size += 2;
      i++;
    } else size += 2;
  }
  return size;
}

/** Writes a string in UTF-8 and returns the position after it. */
export function writeUtf8(buffer: Uint8Array, at: number, text: string): number {
  if (text.length <= SHORT_STRING) {
    let i = 0;
    for (; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) break;
      buffer[at + i] = unit;
    }
    if (i === text.length) return at + i;
  }
  return at + encoder.encodeInto(text, buffer.subarray(at)).written;
}

/** The size of a field of bytes: its tag (field numbers below 16), its length and `size` bytes. */
export function fieldSize(size: number): number {
  return 1 + varintSize(size) + size;
}

/** The size of a string field, 0 for the empty string that proto3 leaves out. */
export function stringFieldSize(text: string): number {
  return text === "" ? 0 : fieldSize(utf8Size(text));
}

/** Writes tag and length of a field of bytes; `field` is below 16. */
export function writeFieldHead(
  buffer: Uint8Array,
  at: number,
  field: number,
  size: number,
): number {
  buffer[at] = (field << 3) | BYTES;
  return writeVarint(buffer, at + 1, size);
}

/** Writes a string field unless it is empty. */
export function writeStringField(
  buffer: Uint8Array,
  at: number,
  field: number,
  text: string,
): number {
  if (text === "") return at;
  return writeUtf8(buffer, writeFieldHead(buffer, at, field, utf8Size(text)), text);
}

/** Writes a field of bytes, even when it is empty. */
export function writeBytesField(
  buffer: Uint8Array,
  at: number,
  field: number,
  bytes: Uint8Array,
): number {
  at = writeFieldHead(buffer, at, field, bytes.length);
  buffer.set(bytes, at);
  return at + bytes.length;
}

/** Walks over the fields of a message; every malformed byte is an `invalidArgument`. */
export class ProtoReader {
  readonly buffer: Uint8Array;
  at: number;
  end: number;

  constructor(buffer: Uint8Array, at = 0, end: number = buffer.length) {
    this.buffer = buffer;
    this.at = at;
    this.end = end;
  }

  /** The next tag, or 0 at the end of the message. */
  tag(): number {
    if (this.at >= this.end) return 0;
    const tag = this.varint();
    if (tag > 0xffffffff || tag >>> 3 === 0) throw malformed("field number 0 or too large");
    return tag;
  }

  /** A varint as a number; values over 2^53 lose precision, as those of this API do not reach it. */
  varint(): number {
    const { buffer, end } = this;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count++) {
      if (this.at >= end) throw malformed("truncated varint");
      const byte = buffer[this.at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    throw malformed("varint of more than 10 bytes");
  }

  /** A varint as a signed 64-bit number. */
  varint64(): bigint {
    const start = this.at;
    const small = this.varint();
    if (small <= Number.MAX_SAFE_INTEGER) return BigInt(small);
    this.at = start;
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.at >= this.end) throw malformed("truncated varint");
      const byte = this.buffer[this.at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw malformed("varint of more than 10 bytes");
  }

  /** A varint as a signed 32-bit number. */
  int32(): number {
    return Number(BigInt.asIntN(32, this.varint64()));
  }

  /** Reads the length of a field of bytes and returns where the field ends. */
  fieldEnd(): number {
    const end = this.varint() + this.at;
    if (end > this.end) throw malformed("truncated field");
    return end;
  }

  /** A view of the bytes of a field. */
  bytes(): Uint8Array {
    const end = this.fieldEnd();
    const start = this.at;
    this.at = end;
    return this.buffer.subarray(start, end);
  }

  /** A string; bytes that are no UTF-8 are refused, as protobuf demands. */
  string(): string {
    const end = this.fieldEnd();
    const start = this.at;
    this.at = end;
    return (end - start <= LONG_STRING ? asciiAt(this.buffer, start, end) : undefined) ??
      this.#utf8(start, end);
  }

  /** A string of which many are equal, such as a type: they are kept once. */
  word(): string {
    const end = this.fieldEnd();
    const start = this.at;
    this.at = end;
    return (end - start <= SHORT_STRING ? wordAt(this.buffer, start, end) : undefined) ??
      this.#utf8(start, end);
  }

  #utf8(start: number, end: number): string {
    try {
      return decoder.decode(this.buffer.subarray(start, end));
    } catch (cause) {
      throw new CodedError("invalidArgument", "Malformed protobuf message: string is not UTF-8", {
        cause,
      });
    }
  }

  /** Enters a message field: returns the outer end, to be given to {@linkcode leave}. */
  enter(): number {
    const outer = this.end;
    this.end = this.fieldEnd();
    return outer;
  }

  /** Leaves a message field. */
  leave(outer: number): void {
    this.at = this.end;
    this.end = outer;
  }

  /** Skips the value of an unknown field. */
  skip(tag: number): void {
    const wireType = tag & 7;
    if (wireType === VARINT) this.varint();
    else if (wireType === BYTES) this.at = this.fieldEnd();
    else if (wireType === FIXED64 || wireType === FIXED32) {
      this.at += wireType === FIXED64 ? 8 : 4;
      if (this.at > this.end) throw malformed("truncated field");
    } else throw malformed(`wire type ${wireType} is not supported`);
  }
}

// The runtime's own way to make a flat string of single-byte characters; the types leave it out.
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string;
};

function asciiAt(buffer: Uint8Array, start: number, end: number): string | undefined {
  for (let i = start; i < end; i++) if ((buffer[i] ?? 0) >= 0x80) return undefined;
  return latin1Slice.call(buffer, start, end);
}

/** Strings that occur again and again, by a hash of their bytes; a newer one takes an older's place. */
const words = new Array<string | undefined>(4096).fill(undefined);

/** One and the same string for equal bytes, most of the time, or `undefined` when they are not ASCII. */
function wordAt(buffer: Uint8Array, start: number, end: number): string | undefined {
  let hash = end - start;
  for (let i = start; i < end; i++) {
    const byte = buffer[i] ?? 0;
    if (byte >= 0x80) return undefined;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  const index = hash & (words.length - 1);
  const word = words[index];
  if (word !== undefined && word.length === end - start) {
    let i = 0;
    while (i < word.length && word.charCodeAt(i) === buffer[start + i]) i++;
    if (i === word.length) return word;
  }
  return words[index] = latin1Slice.call(buffer, start, end);
}

/** What {@linkcode writeShortField} returns for what it cannot write: beyond the end of any buffer. */
export const TOO_LONG = 1 << 30;

/**
 * Writes a field of up to 127 ASCII characters in one go, nothing for the empty string, or returns
 * {@linkcode TOO_LONG}. Writes beyond the end of a buffer have no effect.
 */
export function writeShortField(
  buffer: Uint8Array,
  at: number,
  field: number,
  text: string,
): number {
  const { length } = text;
  if (length === 0) return at;
  if (length > 0x7f) return TOO_LONG;
  buffer[at] = field << 3 | BYTES;
  buffer[at + 1] = length;
  at += 2;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return TOO_LONG;
    buffer[at + i] = unit;
  }
  return at + length;
}
