// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Messages of Linux's netlink, and the attributes in them, as bytes.
 *
 * Numbers are those of `linux/netlink.h`; all machines that the program runs on are little-endian.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/** Flags of a request. */
export const ACKNOWLEDGED = 0x0004;
export const DUMP = 0x0300;
export const CREATE_NEW = 0x0600;

/** What marks an attribute that holds attributes. */
export const NESTED = 0x8000;

const REQUEST = 0x0001;
const DUMP_INTERRUPTED = 0x0010;
const CAPPED = 0x0100;
const HAS_TEXT = 0x0200;
const TYPE_ERROR = 2;
const TYPE_DONE = 3;
const TYPE_MASK = 0x3fff;
const HEADER_SIZE = 16;
const ATTRIBUTE_HEADER_SIZE = 4;
const MAX_ATTRIBUTE_SIZE = 0xffff;
const ERROR_TEXT = 1;

/** A request without its number. */
export interface NetlinkRequest {
  readonly type: number;
  readonly flags: number;
  readonly payload: Uint8Array;
}

/** A message as it was read; the payload is a view. */
export interface NetlinkMessage {
  readonly type: number;
  readonly sequence: number;
  /** Whether what is listed changed meanwhile. */
  readonly isInterrupted: boolean;
  /** Set on the last message of an answer. */
  readonly end?: NetlinkEnd;
  readonly payload: Uint8Array;
}

/** How a request ended. */
export interface NetlinkEnd {
  /** 0 for success. */
  readonly errno: number;
  /** What the kernel says of it, most often nothing. */
  readonly text: string;
}

/** One attribute; the payload is a view. */
export interface NetlinkAttribute {
  readonly type: number;
  readonly payload: Uint8Array;
}

/** Joins pieces. */
export function concat(...pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** A text as the kernel takes names: with a zero behind it. */
export function zeroTerminated(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}

/** The text up to the first zero. */
export function textOf(payload: Uint8Array): string {
  const end = payload.indexOf(0);
  return new TextDecoder().decode(end < 0 ? payload : payload.subarray(0, end));
}

/** An unsigned number of 2 bytes. */
export function uint16(value: number): Uint8Array {
  return Uint8Array.of(value & 0xff, value >>> 8);
}

/** An unsigned number of 4 bytes. */
export function uint32(value: number): Uint8Array {
  return Uint8Array.of(value & 0xff, value >>> 8 & 0xff, value >>> 16 & 0xff, value >>> 24);
}

/**
 * An attribute, filled up to a multiple of 4 bytes.
 *
 * @throws CodedError `outOfRange` when the payload is too long for the 16 bits of its length.
 */
export function attribute(type: number, ...payload: readonly Uint8Array[]): Uint8Array {
  const length = payload.reduce((sum, piece) => sum + piece.length, ATTRIBUTE_HEADER_SIZE);
  if (length > MAX_ATTRIBUTE_SIZE) {
    throw new CodedError("outOfRange", `Cannot write netlink attribute ${type}: ${length} bytes`);
  }
  const padding = new Uint8Array(aligned(length) - length);
  return concat(uint16(length), uint16(type), ...payload, padding);
}

/** A request as it goes to the kernel. */
export function encodeRequest(
  { type, flags, payload }: NetlinkRequest,
  sequence: number,
): Uint8Array {
  const length = HEADER_SIZE + payload.length;
  const port = uint32(0);
  return concat(
    uint32(length),
    uint16(type),
    uint16(flags | REQUEST),
    uint32(sequence),
    port,
    payload,
  );
}

/**
 * Reads the messages of one datagram.
 *
 * @throws CodedError `internal` when they are malformed.
 */
export function readMessages(bytes: Uint8Array): NetlinkMessage[] {
  const view = viewOf(bytes);
  const messages: NetlinkMessage[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = at + HEADER_SIZE <= bytes.length ? view.getUint32(at, true) : 0;
    if (length < HEADER_SIZE || length > bytes.length - at) throw malformed("message", at);
    const type = view.getUint16(at + 4, true);
    const flags = view.getUint16(at + 6, true);
    const payload = bytes.subarray(at + HEADER_SIZE, at + length);
    messages.push({
      type,
      sequence: view.getUint32(at + 8, true),
      isInterrupted: (flags & DUMP_INTERRUPTED) !== 0,
      payload,
      ...(type === TYPE_ERROR || type === TYPE_DONE ? { end: readEnd(type, flags, payload) } : {}),
    });
    at += aligned(length);
  }
  return messages;
}

/** An error says how the request ended, 0 included; the end of a list does the same. */
function readEnd(type: number, flags: number, payload: Uint8Array): NetlinkEnd {
  const view = viewOf(payload);
  // The end of a list may come without a number, from old kernels.
  if (payload.length < 4 && type === TYPE_ERROR) throw malformed("error", 0);
  const errno = payload.length < 4 ? 0 : 0 - view.getInt32(0, true);
  if ((flags & HAS_TEXT) === 0) return { errno, text: "" };
  let at = 4;
  if (type === TYPE_ERROR) {
    // The request is repeated, whole or its header alone. It may hold a key: nothing reads it.
    if (payload.length < 4 + HEADER_SIZE) throw malformed("error", 4);
    at += flags & CAPPED ? HEADER_SIZE : aligned(view.getUint32(4, true));
  }
  if (at > payload.length) throw malformed("error", at);
  const texts = readAttributes(payload.subarray(at)).filter(({ type }) => type === ERROR_TEXT);
  return { errno, text: texts.map(({ payload }) => textOf(payload)).join(" ") };
}

/**
 * Reads attributes that stand one behind the other.
 *
 * @throws CodedError `internal` when they are malformed.
 */
export function readAttributes(bytes: Uint8Array): NetlinkAttribute[] {
  const view = viewOf(bytes);
  const attributes: NetlinkAttribute[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = at + ATTRIBUTE_HEADER_SIZE <= bytes.length ? view.getUint16(at, true) : 0;
    if (length < ATTRIBUTE_HEADER_SIZE || length > bytes.length - at) {
      throw malformed("attribute", at);
    }
    attributes.push({
      type: view.getUint16(at + 2, true) & TYPE_MASK,
      payload: bytes.subarray(at + ATTRIBUTE_HEADER_SIZE, at + length),
    });
    at += aligned(length);
  }
  return attributes;
}

/**
 * The attributes behind a header of a fixed size.
 *
 * @throws CodedError `internal` when the header is not whole or they are malformed.
 */
export function attributesAfter(headerSize: number, payload: Uint8Array): NetlinkAttribute[] {
  if (payload.length < headerSize) throw malformed("header", 0);
  return readAttributes(payload.subarray(headerSize));
}

/** A view of bytes wherever they lie. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The error of what the kernel cannot have sent; it never holds bytes of it. */
export function malformed(what: string, at: number): CodedError {
  return new CodedError("internal", `Cannot read netlink ${what}: malformed at byte ${at}`);
}

function aligned(length: number): number {
  return (length + 3) & ~3;
}
