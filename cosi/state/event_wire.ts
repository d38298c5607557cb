// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The wire form of events, the message `cosi.resource.WatchResponse`.
 *
 * A response of several events is the concatenation of the responses of each, so one encoding serves
 * watches that want events one by one and those that want them together.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { Slab } from "../../base/slab.ts";
import {
  BYTES,
  fieldSize,
  ProtoReader,
  stringFieldSize,
  VARINT,
  varintSize,
  writeBytesField,
  writeFieldHead,
  writeStringField,
} from "./proto_bytes.ts";
import { RawResource } from "./raw_resource.ts";
import type { EventType, StateEvent } from "./state.ts";

/** The event types of the wire by number. */
const TYPES: readonly EventType[] = [
  "created",
  "updated",
  "destroyed",
  "bootstrapped",
  "errored",
  "noop",
];

/** What an event carries, already as messages with the resource as field 1. */
export interface EventParts {
  readonly type: EventType;
  readonly resource: Uint8Array;
  readonly old: Uint8Array | undefined;
  readonly bookmark: Uint8Array | undefined;
  readonly error: string | undefined;
}

/** What is kept for other watches goes in about the order in which it was encoded. */
const slab = new Slab();

/** Encodes one event as a whole response. */
export function encodeEvent({ type, resource, old, bookmark, error }: EventParts): Uint8Array {
  const number = TYPES.indexOf(type);
  const size = resource.length + (number === 0 ? 0 : 2) + (old?.length ?? 0) +
    (error === undefined ? 0 : Math.max(2, stringFieldSize(error))) +
    (bookmark === undefined ? 0 : fieldSize(bookmark.length));
  // One without a bookmark is not kept, and would lie between those that are.
  const whole = fieldSize(size);
  const response = bookmark === undefined ? new Uint8Array(whole) : slab.take(whole);
  let at = writeFieldHead(response, 0, 1, size);
  response.set(resource, at);
  at += resource.length;
  if (number !== 0) {
    response[at++] = 2 << 3 | VARINT;
    response[at++] = number;
  }
  if (old !== undefined) {
    response.set(old, at);
    // The message carries a resource as its field 1; here it is field 3.
    response[at] = 3 << 3 | BYTES;
    at += old.length;
  }
  if (error !== undefined) {
    at = error === ""
      ? writeFieldHead(response, at, 4, 0)
      : writeStringField(response, at, 4, error);
  }
  if (bookmark !== undefined) writeBytesField(response, at, 5, bookmark);
  return response;
}

/**
 * What stands before the message of a resource in the response of a `created` event without a
 * bookmark: head and message together are what {@linkcode encodeEvent} makes, without the copy. Messages of one
 * length share it, so it must not change.
 */
export function createdHead(message: Uint8Array): Uint8Array {
  const { length } = message;
  return heads[length] ?? makeHead(length);
}

/** Of short messages, by length: to allocate a few bytes costs more than to copy a resource. */
const heads: (Uint8Array | undefined)[] = new Array(8192).fill(undefined);

function makeHead(length: number): Uint8Array {
  const head = new Uint8Array(1 + varintSize(length));
  writeFieldHead(head, 0, 1, length);
  if (length < heads.length) heads[length] = head;
  return head;
}

function readEvent(reader: ProtoReader): StateEvent {
  const outer = reader.enter();
  let resource: RawResource | undefined;
  let old: RawResource | undefined;
  let number = 0;
  let error: string | undefined;
  let bookmark: Uint8Array | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === (1 << 3 | BYTES)) resource = RawResource.fromWire(reader.bytes());
    else if (tag === (2 << 3 | VARINT)) number = reader.varint();
    else if (tag === (3 << 3 | BYTES)) old = RawResource.fromWire(reader.bytes());
    else if (tag === (4 << 3 | BYTES)) error = reader.string();
    else if (tag === (5 << 3 | BYTES)) bookmark = reader.bytes().slice();
    else reader.skip(tag);
  }
  reader.leave(outer);
  const type = TYPES[number];
  if (type === undefined) {
    throw new CodedError("unimplemented", `Cannot read an event of type ${number}`);
  }
  resource ??= RawResource.tombstone("", "", "");
  return { type, resource, old, bookmark, error };
}

/** Reads a response with all its events. */
export function decodeEvents(response: Uint8Array): StateEvent[] {
  const reader = new ProtoReader(response);
  const events: StateEvent[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === (1 << 3 | BYTES)) events.push(readEvent(reader));
    else reader.skip(tag);
  }
  return events;
}
