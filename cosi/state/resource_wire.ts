// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writes resources, the message `cosi.resource.Resource`.
 *
 * A spec is always present, even empty; `proto_spec` is present only where it is not empty: the
 * clients of the contract refuse both other ways.
 *
 * @module
 */

import type { Instant, Metadata } from "../resource.ts";
import {
  BYTES,
  fieldSize,
  stringFieldSize,
  TOO_LONG,
  utf8Size,
  VARINT,
  varintSize,
  writeBytesField,
  writeFieldHead,
  writeShortField,
  writeStringField,
  writeUtf8,
  writeVarint,
  writeVarint64,
} from "./proto_bytes.ts";

/**
 * A resource inside a message of which it is field 1, and where both and its parts are.
 *
 * Every reply that carries a resource is such a message, and so is the beginning of every event: with
 * the field's head in front, a stored resource is a reply as it stands.
 */
export interface ResourceWire {
  readonly memory: Uint8Array;
  readonly messageStart: number;
  readonly messageEnd: number;
  /** Where the resource begins, behind the field's head. */
  readonly start: number;
  readonly specStart: number;
  readonly specEnd: number;
}

function versionText(version: number): string {
  return version === 0 ? "undefined" : String(version);
}

function varint64Size(value: bigint): number {
  return value < 0n ? 10 : varintSize(Number(value));
}

function instantSize(instant: Instant): number {
  return (instant.seconds === 0n ? 0 : 1 + varint64Size(instant.seconds)) +
    (instant.nanos === 0 ? 0 : 1 + varintSize(instant.nanos));
}

function recordEntrySize(key: string, value: string): number {
  return stringFieldSize(key) + stringFieldSize(value);
}

function recordSize(record: Readonly<Record<string, string>>): number {
  let size = 0;
  for (const key in record) size += fieldSize(recordEntrySize(key, record[key] ?? ""));
  return size;
}

function metadataSize(metadata: Metadata): number {
  let size = stringFieldSize(metadata.namespace) + stringFieldSize(metadata.type) +
    stringFieldSize(metadata.id) + stringFieldSize(versionText(metadata.version)) +
    stringFieldSize(metadata.owner) + stringFieldSize(metadata.phase) +
    recordSize(metadata.labels) + recordSize(metadata.annotations);
  if (metadata.created) size += fieldSize(instantSize(metadata.created));
  if (metadata.updated) size += fieldSize(instantSize(metadata.updated));
  for (const finalizer of metadata.finalizers) size += fieldSize(utf8Size(finalizer));
  return size;
}

function writeInstant(buffer: Uint8Array, at: number, field: number, instant: Instant): number {
  at = writeFieldHead(buffer, at, field, instantSize(instant));
  if (instant.seconds !== 0n) {
    buffer[at] = 1 << 3 | VARINT;
    at = writeVarint64(buffer, at + 1, instant.seconds);
  }
  if (instant.nanos !== 0) {
    buffer[at] = 2 << 3 | VARINT;
    at = writeVarint(buffer, at + 1, instant.nanos);
  }
  return at;
}

function writeRecord(
  buffer: Uint8Array,
  at: number,
  field: number,
  record: Readonly<Record<string, string>>,
): number {
  for (const key in record) {
    const value = record[key] ?? "";
    at = writeFieldHead(buffer, at, field, recordEntrySize(key, value));
    at = writeStringField(buffer, at, 1, key);
    at = writeStringField(buffer, at, 2, value);
  }
  return at;
}

function writeMetadata(buffer: Uint8Array, at: number, metadata: Metadata): number {
  at = writeStringField(buffer, at, 1, metadata.namespace);
  at = writeStringField(buffer, at, 2, metadata.type);
  at = writeStringField(buffer, at, 3, metadata.id);
  at = writeStringField(buffer, at, 4, versionText(metadata.version));
  at = writeStringField(buffer, at, 5, metadata.owner);
  at = writeStringField(buffer, at, 6, metadata.phase);
  if (metadata.created) at = writeInstant(buffer, at, 7, metadata.created);
  if (metadata.updated) at = writeInstant(buffer, at, 8, metadata.updated);
  for (const finalizer of metadata.finalizers) {
    at = writeUtf8(buffer, writeFieldHead(buffer, at, 9, utf8Size(finalizer)), finalizer);
  }
  at = writeRecord(buffer, at, 10, metadata.labels);
  return writeRecord(buffer, at, 11, metadata.annotations);
}

/** Where metadata are written before their size is known. */
const scratch = new Uint8Array(4096);

function writeShortInstant(at: number, field: number, instant: Instant | undefined): number {
  return instant === undefined ? at : writeInstant(scratch, at, field, instant);
}

function writeShortRecord(
  at: number,
  field: number,
  record: Readonly<Record<string, string>>,
): number {
  for (const key in record) {
    const start = at + 2;
    const end = writeShortField(
      scratch,
      writeShortField(scratch, start, 1, key),
      2,
      record[key] ?? "",
    );
    if (end - start > 0x7f) return TOO_LONG;
    scratch[at] = field << 3 | BYTES;
    scratch[at + 1] = end - start;
    at = end;
  }
  return at;
}

/** Writes metadata of ordinary length to the scratch buffer; their size, or more than its own. */
function writeShortMetadata(metadata: Metadata): number {
  let at = writeShortField(scratch, 0, 1, metadata.namespace);
  at = writeShortField(scratch, at, 2, metadata.type);
  at = writeShortField(scratch, at, 3, metadata.id);
  at = writeShortField(scratch, at, 4, versionText(metadata.version));
  at = writeShortField(scratch, at, 5, metadata.owner);
  at = writeShortField(scratch, at, 6, metadata.phase);
  at = writeShortInstant(at, 7, metadata.created);
  at = writeShortInstant(at, 8, metadata.updated);
  for (const finalizer of metadata.finalizers) {
    at = finalizer === "" ? TOO_LONG : writeShortField(scratch, at, 9, finalizer);
  }
  at = writeShortRecord(at, 10, metadata.labels);
  return writeShortRecord(at, 11, metadata.annotations);
}

/** Encodes a resource. */
export function encodeResource(
  metadata: Metadata,
  protoSpec: Uint8Array,
  yamlSpec: string,
): ResourceWire {
  const shortSize = writeShortMetadata(metadata);
  const isShort = shortSize <= scratch.length;
  const metaSize = isShort ? shortSize : metadataSize(metadata);
  const protoSize = protoSpec.length === 0 ? 0 : fieldSize(protoSpec.length);
  const specSize = protoSize + stringFieldSize(yamlSpec);
  const size = fieldSize(metaSize) + fieldSize(specSize);
  const message = new Uint8Array(fieldSize(size));
  const start = writeFieldHead(message, 0, 1, size);
  let at = writeFieldHead(message, start, 1, metaSize);
  if (isShort) {
    message.set(scratch.subarray(0, metaSize), at);
    at += metaSize;
  } else at = writeMetadata(message, at, metadata);
  at = writeFieldHead(message, at, 2, specSize);
  if (protoSize !== 0) at = writeBytesField(message, at, 1, protoSpec);
  const specEnd = at;
  writeStringField(message, at, 2, yamlSpec);
  const specStart = specEnd - protoSpec.length;
  return {
    memory: message,
    messageStart: 0,
    messageEnd: message.length,
    start,
    specStart,
    specEnd,
  };
}

/** Puts the head of field 1 before the wire form of a resource. */
export function messageOf(wire: Uint8Array): Uint8Array {
  const message = new Uint8Array(fieldSize(wire.length));
  writeBytesField(message, 0, 1, wire);
  return message;
}
