// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Decodes HPACK header blocks (RFC 7541) and checks them as RFC 9113 §8.2 demands.
 *
 * A block is always decoded to its end, even when it turns out malformed or too large, because the
 * dynamic table has to stay in step with the peer's. What cannot be decoded is a fault of the whole
 * connection.
 *
 * @module
 */

import { ConnectionFault, Http2Code } from "./frames.ts";
import { STATIC_TABLE } from "./hpack_tables.ts";
import { huffmanDecode } from "./huffman.ts";
import { findText, keepText, placeOf } from "./interned_text.ts";

/** Fields that the transport itself looks at, as indexes of {@linkcode HeaderBlock.known}. */
export const Known = {
  Method: 0,
  Scheme: 1,
  Path: 2,
  Authority: 3,
  Status: 4,
  ContentType: 5,
  ContentLength: 6,
  Timeout: 7,
  Encoding: 8,
  AcceptEncoding: 9,
  GrpcStatus: 10,
  GrpcMessage: 11,
} as const;

const KNOWN_COUNT = 12;
const LAST_PSEUDO = Known.Status;
const ORDINARY = 100;
const FORBIDDEN = 101;
const TE = 102;

const KIND_OF_NAME: ReadonlyMap<string, number> = new Map<string, number>([
  [":method", Known.Method],
  [":scheme", Known.Scheme],
  [":path", Known.Path],
  [":authority", Known.Authority],
  [":status", Known.Status],
  ["content-type", Known.ContentType],
  ["content-length", Known.ContentLength],
  ["grpc-timeout", Known.Timeout],
  ["grpc-encoding", Known.Encoding],
  ["grpc-accept-encoding", Known.AcceptEncoding],
  ["grpc-status", Known.GrpcStatus],
  ["grpc-message", Known.GrpcMessage],
  ["te", TE],
  ["connection", FORBIDDEN],
  ["keep-alive", FORBIDDEN],
  ["proxy-connection", FORBIDDEN],
  ["transfer-encoding", FORBIDDEN],
  ["upgrade", FORBIDDEN],
]);

/** One decoded block. The object is the decoder's and valid until it decodes again. */
export interface HeaderBlock {
  /** Names and values in turn without pseudo-header fields; a fresh array for each block. */
  fields: string[];
  /** Values of the fields of {@linkcode Known}. */
  readonly known: (string | undefined)[];
  /** Whether the block breaks a rule of HTTP/2, so that its stream has to end. */
  malformed: boolean;
  /** Whether the list is larger than allowed; then fields are missing. */
  oversize: boolean;
}

interface Field {
  readonly name: string;
  readonly value: string;
  readonly kind: number;
}

// Bytes that a name may have: lower-case tokens; a colon only first.
const NAME_BYTES = byteSet("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz");

function byteSet(characters: string): Uint8Array {
  const set = new Uint8Array(256);
  for (let at = 0; at < characters.length; at++) set[characters.charCodeAt(at)] = 1;
  return set;
}

const STATIC_FIELDS: readonly Field[] = STATIC_TABLE.map(([name, value]) => ({
  name,
  value,
  kind: kindOf(name, value),
}));

function kindOf(name: string, value: string): number {
  const kind = KIND_OF_NAME.get(name);
  if (kind === undefined) return name.startsWith(":") ? FORBIDDEN : ORDINARY;
  if (kind === TE) return value === "trailers" ? ORDINARY : FORBIDDEN;
  return kind;
}

/** Decodes the blocks of one direction of one connection. */
export class HpackDecoder {
  readonly #maxTableBytes: number;
  readonly #maxListBytes: number;
  /** Newest entry last; entries before `#first` are evicted. */
  #entries: Field[] = [];
  #first = 0;
  #tableBytes = 0;
  #tableLimit: number;
  #listBytes = 0;
  #sawOrdinary = false;
  #at = 0;
  #badText = false;
  readonly #block: HeaderBlock = {
    fields: [],
    known: new Array<string | undefined>(KNOWN_COUNT).fill(undefined),
    malformed: false,
    oversize: false,
  };

  constructor(maxTableBytes: number, maxListBytes: number) {
    this.#maxTableBytes = this.#tableLimit = maxTableBytes;
    this.#maxListBytes = maxListBytes;
  }

  /** Decodes one whole block. Throws a {@linkcode ConnectionFault} when that is impossible. */
  decode(buffer: Uint8Array, start: number, end: number): HeaderBlock {
    const block = this.#block;
    block.fields = [];
    block.known.fill(undefined);
    block.malformed = block.oversize = false;
    this.#listBytes = 0;
    this.#sawOrdinary = false;
    this.#at = start;
    let sawField = false;
    while (this.#at < end) {
      if (block.oversize) {
        this.#skipIndexed(buffer, end);
        if (this.#at === end) break;
      }
      const first = buffer[this.#at] as number;
      if (first >= 0x80) {
        this.#add(this.#lookUp(this.#integer(buffer, end, 7)));
      } else if (first >= 0x40) {
        const field = this.#literal(buffer, end, 6);
        this.#insert(field);
        this.#add(field);
      } else if (first >= 0x20) {
        if (sawField) throw compression("a table size update after a field");
        this.#resize(this.#integer(buffer, end, 5));
        continue;
      } else {
        this.#add(this.#literal(buffer, end, 4));
      }
      sawField = true;
    }
    return block;
  }

  /** Steps over fields that exist and are dropped anyway: a block may hold thousands of them. */
  #skipIndexed(buffer: Uint8Array, end: number): void {
    const entries = STATIC_FIELDS.length + this.#entries.length - this.#first;
    const last = 0x80 + Math.min(entries, 0x7e);
    let at = this.#at;
    while (at < end && (buffer[at] as number) > 0x80 && (buffer[at] as number) <= last) at++;
    this.#at = at;
  }

  #add(field: Field): void {
    const block = this.#block;
    const { kind } = field;
    this.#listBytes += field.name.length + field.value.length + 32;
    if (this.#listBytes > this.#maxListBytes) {
      block.oversize = true;
      return;
    }
    if (kind <= LAST_PSEUDO) {
      if (this.#sawOrdinary || block.known[kind] !== undefined) block.malformed = true;
      block.known[kind] = field.value;
      return;
    }
    this.#sawOrdinary = true;
    if (kind === FORBIDDEN) {
      block.malformed = true;
      return;
    }
    if (kind !== ORDINARY) {
      if (kind === Known.ContentLength && block.known[kind] !== undefined) block.malformed = true;
      block.known[kind] = field.value;
    }
    block.fields.push(field.name, field.value);
  }

  #lookUp(index: number): Field {
    const field = index <= STATIC_FIELDS.length
      ? STATIC_FIELDS[index - 1]
      : this.#dynamic(index - STATIC_FIELDS.length);
    if (field === undefined) throw compression(`index ${index} of no entry`);
    return field;
  }

  #dynamic(index: number): Field | undefined {
    const at = this.#entries.length - index;
    return at < this.#first ? undefined : this.#entries[at];
  }

  #literal(buffer: Uint8Array, end: number, prefixBits: number): Field {
    const isSecret = prefixBits === 4 && ((buffer[this.#at] as number) & 0x10) !== 0;
    const index = this.#integer(buffer, end, prefixBits);
    this.#badText = false;
    const name = index === 0 ? this.#string(buffer, end, true, false) : this.#lookUp(index).name;
    const value = this.#string(buffer, end, false, isSecret);
    return { name, value, kind: this.#badText ? FORBIDDEN : kindOf(name, value) };
  }

  #string(buffer: Uint8Array, end: number, isName: boolean, isSecret: boolean): string {
    if (this.#at >= end) throw compression("a truncated string");
    const coded = ((buffer[this.#at] as number) & 0x80) !== 0;
    const length = this.#integer(buffer, end, 7);
    const start = this.#at;
    if (length > end - start) throw compression("a string beyond its block");
    const stop = this.#at = start + length;
    const salt = (coded ? 1 : 0) + (isName ? 2 : 0);
    const place = isSecret ? -1 : placeOf(buffer, start, stop, salt);
    const known = place < 0 ? undefined : findText(place, buffer, start, stop, coded, isName);
    if (known !== undefined) {
      if (known.isBad) this.#badText = true;
      return known.text;
    }
    const wasBad = this.#badText;
    this.#badText = false;
    const text = coded
      ? this.#huffman(buffer, start, stop, isName)
      : this.#text(buffer, start, stop, isName);
    const isBad = this.#badText;
    if (place >= 0) {
      keepText(place, { wire: buffer.slice(start, stop), coded, isName, text, isBad });
    }
    this.#badText = isBad || wasBad;
    return text;
  }

  #huffman(buffer: Uint8Array, start: number, end: number, isName: boolean): string {
    const room = ((end - start) * 8) / 5 + 1;
    if (scratch.length < room) scratch = new Uint8Array(Math.ceil(room));
    const decoded = huffmanDecode(buffer, start, end, scratch);
    if (decoded < 0) throw compression("a bad Huffman string");
    return this.#text(scratch, 0, decoded, isName);
  }

  #text(buffer: Uint8Array, start: number, end: number, isName: boolean): string {
    if (isName) {
      if (start === end) this.#badText = true;
      for (let at = start; at < end; at++) {
        const byte = buffer[at] as number;
        if (NAME_BYTES[byte] === 0 && !(byte === 0x3a && at === start)) this.#badText = true;
      }
    } else {
      for (let at = start; at < end; at++) {
        const byte = buffer[at] as number;
        if (byte === 0 || byte === 10 || byte === 13) this.#badText = true;
      }
      if (end > start && (isBlank(buffer[start]) || isBlank(buffer[end - 1]))) {
        this.#badText = true;
      }
    }
    return latin1(buffer, start, end);
  }

  #integer(buffer: Uint8Array, end: number, prefixBits: number): number {
    if (this.#at >= end) throw compression("a truncated integer");
    const mask = (1 << prefixBits) - 1;
    let value = (buffer[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0;; shift += 7) {
      if (this.#at >= end) throw compression("a truncated integer");
      // Nothing legitimate needs more than 28 bits, and 32-bit arithmetic stays exact so far.
      if (shift > 21) throw compression("an oversized integer");
      const byte = buffer[this.#at++] as number;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  #resize(limit: number): void {
    if (limit > this.#maxTableBytes) throw compression(`a table size of ${limit}`);
    this.#tableLimit = limit;
    this.#evict(limit);
  }

  #insert(field: Field): void {
    const bytes = field.name.length + field.value.length + 32;
    if (bytes > this.#tableLimit) {
      this.#evict(0);
      return;
    }
    this.#evict(this.#tableLimit - bytes);
    this.#entries.push(field);
    this.#tableBytes += bytes;
  }

  #evict(limit: number): void {
    while (this.#tableBytes > limit) {
      const field = this.#entries[this.#first++] as Field;
      this.#tableBytes -= field.name.length + field.value.length + 32;
    }
    // Moves seldom, so that eviction stays cheap, and often enough to let go of the strings.
    if (this.#first >= 32 || this.#first === this.#entries.length) {
      this.#entries = this.#entries.slice(this.#first);
      this.#first = 0;
    }
  }
}

let scratch = new Uint8Array(1024);

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09;
}

function latin1(buffer: Uint8Array, start: number, end: number): string {
  if (end - start <= 24) {
    let text = "";
    for (let at = start; at < end; at++) text += String.fromCharCode(buffer[at] as number);
    return text;
  }
  let text = "";
  // Bounded pieces, because each byte becomes an argument.
  for (let at = start; at < end; at += 4096) {
    const piece = buffer.subarray(at, Math.min(end, at + 4096));
    text += String.fromCharCode.apply(null, piece as unknown as number[]);
  }
  return text;
}

function compression(what: string): ConnectionFault {
  return new ConnectionFault(Http2Code.CompressionError, `Cannot decode headers: ${what}`);
}
