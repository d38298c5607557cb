// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Metadata of a call: what gRPC sends as headers and trailers.
 *
 * @module
 */

import { decodeBase64, encodeBase64 } from "./base64.ts";

/** A value of metadata: bytes for a key that ends with `-bin`, text for any other. */
export type MetadataValue = string | Uint8Array;

/** What metadata can be made from. */
export type MetadataInit =
  | Metadata
  | Readonly<Record<string, MetadataValue | readonly MetadataValue[]>>;

// Headers that belong to HTTP/2 or to gRPC itself and are no metadata.
const RESERVED = new Set([
  "content-type",
  "te",
  "grpc-timeout",
  "grpc-encoding",
  "grpc-accept-encoding",
  "grpc-message-type",
  "grpc-status",
  "grpc-message",
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "host",
]);

/** Whether a header belongs to the protocol, so that a caller may not set it. */
function isReservedHeader(name: string): boolean {
  return RESERVED.has(name) || name.startsWith(":");
}

/**
 * Read-only metadata, by lower-case key. It is decoded when it is first looked at, because most
 * calls never look.
 */
export class Metadata implements Iterable<[string, MetadataValue]> {
  readonly #fields: readonly string[];
  #values: Map<string, MetadataValue[]> | undefined;

  /** @param fields Names and values in turn, as they were on the wire. */
  constructor(fields: readonly string[] = []) {
    this.#fields = fields;
  }

  /** Metadata with the given entries. Throws `TypeError` on a key or a value that cannot be sent. */
  static from(init: MetadataInit): Metadata {
    return init instanceof Metadata ? init : new Metadata(encodeMetadata(init));
  }

  /** The first value of a key. */
  get(key: string): MetadataValue | undefined {
    return this.#decoded().get(key.toLowerCase())?.[0];
  }

  /** The first value of a key when it is text. */
  text(key: string): string | undefined {
    const value = this.get(key);
    return typeof value === "string" ? value : undefined;
  }

  /** The first value of a key when it is bytes. */
  binary(key: string): Uint8Array | undefined {
    const value = this.get(key);
    return typeof value === "string" ? undefined : value;
  }

  /** All values of a key, in the order in which they were sent. */
  getAll(key: string): readonly MetadataValue[] {
    return this.#decoded().get(key.toLowerCase()) ?? [];
  }

  /** Whether a key has a value. */
  has(key: string): boolean {
    return this.#decoded().has(key.toLowerCase());
  }

  /** How many keys there are. */
  get size(): number {
    return this.#decoded().size;
  }

  /** The keys, in the order in which they were first sent. */
  keys(): IterableIterator<string> {
    return this.#decoded().keys();
  }

  /** All keys and values; a key with several values comes several times. */
  *entries(): IterableIterator<[string, MetadataValue]> {
    for (const [key, values] of this.#decoded()) {
      for (const value of values) yield [key, value];
    }
  }

  [Symbol.iterator](): IterableIterator<[string, MetadataValue]> {
    return this.entries();
  }

  /** Names and values in turn, as they go on the wire. */
  toFields(): readonly string[] {
    return this.#fields;
  }

  #decoded(): Map<string, MetadataValue[]> {
    if (this.#values !== undefined) return this.#values;
    const values = new Map<string, MetadataValue[]>();
    for (let at = 0; at + 1 < this.#fields.length; at += 2) {
      const name = this.#fields[at] ?? "";
      const text = this.#fields[at + 1] ?? "";
      if (isReservedHeader(name)) continue;
      let list = values.get(name);
      if (list === undefined) values.set(name, list = []);
      if (!name.endsWith("-bin")) {
        list.push(text);
        continue;
      }
      // Several binary values may be joined by commas.
      for (const part of text.split(",")) {
        const bytes = decodeBase64(part.trim());
        if (bytes !== undefined) list.push(bytes);
      }
    }
    this.#values = values;
    return values;
  }
}

/** Names and values in turn. Throws `TypeError` on a key or a value that cannot be sent. */
export function encodeMetadata(init: MetadataInit): string[] {
  if (init instanceof Metadata) return [...init.toFields()];
  const fields: string[] = [];
  for (const [key, value] of Object.entries(init)) {
    if (typeof value === "string" || value instanceof Uint8Array) {
      appendField(fields, key, value);
    } else for (const item of value) appendField(fields, key, item);
  }
  return fields;
}

/** Adds one entry to a list of names and values. Throws `TypeError` when it cannot be sent. */
export function appendField(fields: string[], key: string, value: MetadataValue): void {
  const name = key.toLowerCase();
  if (!/^[0-9a-z_.-]+$/.test(name) || isReservedHeader(name)) {
    throw new TypeError(`Cannot send metadata: key "${key}" is not allowed`);
  }
  if (name.endsWith("-bin")) {
    if (typeof value === "string") {
      throw new TypeError(`Cannot send metadata: key "${key}" needs bytes`);
    }
    fields.push(name, encodeBase64(value));
    return;
  }
  if (typeof value !== "string" || !/^[ -~]*$/.test(value)) {
    throw new TypeError(`Cannot send metadata: the value of "${key}" must be printable ASCII`);
  }
  fields.push(name, value.trim());
}
