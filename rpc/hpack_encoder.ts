// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Encodes HPACK header blocks (RFC 7541).
 *
 * A field enters the dynamic table when it comes for the second time, secrets never do. Lists that
 * repeat are templates: their encoded form is kept for as long as the table does not change, so a
 * usual reply costs one copy of a few bytes.
 *
 * @module
 */

import { STATIC_TABLE } from "./hpack_tables.ts";
import { huffmanEncode, huffmanLength } from "./huffman.ts";

/** A list of names and values in turn that is sent often. */
export interface HeaderTemplate {
  readonly fields: readonly string[];
}

// Intermediaries must not index these either, so that no one can probe for their values.
const SECRET = /^(authorization|cookie|set-cookie|proxy-authorization)$|signature|token|secret/;

// These differ from call to call; in the table they would only push out others.
const FLEETING = new Set(["grpc-timeout", "grpc-message", "content-length", "date"]);

const STATIC_INDEX = new Map<string, number>();
const STATIC_NAME_INDEX = new Map<string, number>();
for (const [at, [name, value]] of STATIC_TABLE.entries()) {
  if (!STATIC_NAME_INDEX.has(name)) STATIC_NAME_INDEX.set(name, at + 1);
  if (!STATIC_INDEX.has(`${name}\n${value}`)) STATIC_INDEX.set(`${name}\n${value}`, at + 1);
}

const MAX_TEMPLATES = 64;
const SEEN_ONCE = 16;

/** Bytes that a list can take at most when encoded. */
export function encodedBound(fields: readonly string[]): number {
  let bound = 12;
  for (const text of fields) bound += text.length + 6;
  return bound;
}

/** Encodes the blocks of one direction of one connection. */
export class HpackEncoder {
  readonly #ownLimit: number;
  #limit: number;
  /** The lowest limit since the last block, when the peer has to be told of a change. */
  #lowestUntold: number | undefined;
  #bytes = 0;
  /** Sizes of the entries by insertion number; evicted ones are gone. */
  readonly #entries = new Map<string, { number: number; bytes: number }>();
  #inserted = 0;
  readonly #templates = new Map<HeaderTemplate, { bytes: Uint8Array; inserted: number }>();
  #seenOnce: string[] = [];

  constructor(maxTableBytes: number) {
    this.#ownLimit = this.#limit = maxTableBytes;
  }

  /** Takes over the table size that the peer allows. */
  setPeerLimit(limit: number): void {
    const next = Math.min(limit, this.#ownLimit);
    if (next === this.#limit) return;
    this.#limit = next;
    this.#lowestUntold = Math.min(this.#lowestUntold ?? next, next);
    this.#evict(this.#limit);
    this.#templates.clear();
  }

  /** Bytes that {@linkcode encode} may need. */
  bound(template: HeaderTemplate | undefined, fields: readonly string[] | undefined): number {
    return 8 + (template === undefined ? 0 : encodedBound(template.fields)) +
      (fields === undefined ? 0 : encodedBound(fields));
  }

  /** Encodes a template and further fields into `target` from `offset`; returns where it ended. */
  encode(
    template: HeaderTemplate | undefined,
    fields: readonly string[] | undefined,
    target: Uint8Array,
    offset: number,
  ): number {
    let at = offset;
    if (this.#lowestUntold !== undefined) {
      // A table that shrank and grew again has to be emptied at the peer too (RFC 7541 §4.2).
      if (this.#lowestUntold < this.#limit) {
        at = putInteger(target, at, 0x20, 5, this.#lowestUntold);
      }
      at = putInteger(target, at, 0x20, 5, this.#limit);
      this.#lowestUntold = undefined;
    }
    if (template !== undefined) at = this.#encodeTemplate(template, target, at);
    if (fields !== undefined) {
      for (let index = 0; index + 1 < fields.length; index += 2) {
        at = this.#field(fields[index] as string, fields[index + 1] as string, target, at);
      }
    }
    return at;
  }

  #encodeTemplate(template: HeaderTemplate, target: Uint8Array, offset: number): number {
    const cached = this.#templates.get(template);
    if (cached !== undefined && cached.inserted === this.#inserted) {
      target.set(cached.bytes, offset);
      return offset + cached.bytes.length;
    }
    const before = this.#inserted;
    let at = offset;
    const { fields } = template;
    for (let index = 0; index + 1 < fields.length; index += 2) {
      // What is a template comes again for sure.
      at = this.#field(fields[index] as string, fields[index + 1] as string, target, at, true);
    }
    if (this.#inserted === before) {
      if (this.#templates.size >= MAX_TEMPLATES) this.#templates.clear();
      this.#templates.set(template, { bytes: target.slice(offset, at), inserted: before });
    }
    return at;
  }

  #field(name: string, value: string, target: Uint8Array, at: number, comesAgain = false): number {
    const key = `${name}\n${value}`;
    const fixed = STATIC_INDEX.get(key);
    if (fixed !== undefined) return putInteger(target, at, 0x80, 7, fixed);
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      return putInteger(target, at, 0x80, 7, STATIC_TABLE.length + this.#inserted - entry.number);
    }
    let pattern = 0x00;
    let prefixBits = 4;
    if (SECRET.test(name)) pattern = 0x10;
    else if (this.#shouldIndex(name, key, comesAgain)) {
      pattern = 0x40;
      prefixBits = 6;
    }
    const nameIndex = STATIC_NAME_INDEX.get(name) ?? 0;
    let end = putInteger(target, at, pattern, prefixBits, nameIndex);
    if (nameIndex === 0) end = putString(target, end, name);
    end = putString(target, end, value);
    if (pattern === 0x40) this.#insert(key);
    return end;
  }

  #shouldIndex(name: string, key: string, comesAgain: boolean): boolean {
    // One large field must not push out all the others.
    if (key.length + 31 > this.#limit / 2 || FLEETING.has(name)) return false;
    if (comesAgain) return true;
    const seen = this.#seenOnce.indexOf(key);
    if (seen >= 0) {
      this.#seenOnce.splice(seen, 1);
      return true;
    }
    this.#seenOnce.push(key);
    if (this.#seenOnce.length > SEEN_ONCE) this.#seenOnce.shift();
    return false;
  }

  #insert(key: string): void {
    const bytes = key.length - 1 + 32;
    this.#evict(this.#limit - bytes);
    this.#entries.set(key, { number: this.#inserted++, bytes });
    this.#bytes += bytes;
  }

  #evict(limit: number): void {
    // A Map keeps the order of insertion, so its first entry is the oldest.
    for (const [key, { bytes }] of this.#entries) {
      if (this.#bytes <= limit) return;
      this.#entries.delete(key);
      this.#bytes -= bytes;
    }
  }
}

function putInteger(
  target: Uint8Array,
  at: number,
  pattern: number,
  prefixBits: number,
  value: number,
): number {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) {
    target[at] = pattern | value;
    return at + 1;
  }
  target[at++] = pattern | mask;
  let rest = value - mask;
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

function putString(target: Uint8Array, at: number, text: string): number {
  const coded = huffmanLength(text);
  if (coded < text.length) {
    return huffmanEncode(text, target, putInteger(target, at, 0x80, 7, coded));
  }
  let end = putInteger(target, at, 0, 7, text.length);
  for (let index = 0; index < text.length; index++) target[end++] = text.charCodeAt(index);
  return end;
}
