// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reads resources, the message `cosi.resource.Resource`.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Instant, Metadata, Phase } from "../resource.ts";
import { BYTES, type ProtoReader, VARINT } from "./proto_bytes.ts";
import { EMPTY_LIST, EMPTY_RECORD } from "./tombstone.ts";

/** A resource taken apart; the spec is not copied. */
export interface ParsedResource {
  readonly metadata: Metadata;
  readonly specStart: number;
  readonly specEnd: number;
  readonly yamlSpec: string;
}

/** Reads a version: a decimal number from 1, or `undefined` for none. */
function parseVersion(text: string): number {
  if (text === "undefined") return 0;
  let version = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    version = digit >= 0 && digit <= 9 ? version * 10 + digit : NaN;
  }
  if (text === "" || !Number.isSafeInteger(version)) {
    throw new CodedError(
      "invalidArgument",
      `Metadata version must be "undefined" or a decimal number: current value is ${
        JSON.stringify(text.slice(0, 64))
      }`,
    );
  }
  return version;
}

/** Reads a phase. */
export function parsePhase(text: string): Phase {
  if (text === "running" || text === "tearingDown") return text;
  throw new CodedError(
    "invalidArgument",
    `Phase must be "running" or "tearingDown": current value is ${
      JSON.stringify(text.slice(0, 64))
    }`,
  );
}

function readInstant(reader: ProtoReader): Instant {
  const outer = reader.enter();
  let seconds = 0n;
  let nanos = 0;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === (1 << 3 | VARINT)) seconds = reader.varint64();
    else if (tag === (2 << 3 | VARINT)) nanos = reader.int32();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return sharedInstant(seconds, Math.max(0, nanos));
}

/** Instants that were read last, by their nanoseconds; those of one resource are mostly the same. */
const instants: Instant[] = new Array(64).fill({ seconds: 0n, nanos: 0 });

function sharedInstant(seconds: bigint, nanos: number): Instant {
  // Times come in milliseconds mostly: all bits have to count.
  const place = Math.imul(nanos, 0x9e3779b1) >>> 26;
  const known = instants[place];
  if (known?.nanos === nanos && known.seconds === seconds) return known;
  return instants[place] = { seconds, nanos };
}

function readEntry(reader: ProtoReader, into: Record<string, string>): void {
  const outer = reader.enter();
  let key = "";
  let value = "";
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === (1 << 3 | BYTES)) key = reader.word();
    else if (tag === (2 << 3 | BYTES)) value = reader.string();
    else reader.skip(tag);
  }
  reader.leave(outer);
  if (key === "__proto__") {
    // An assignment would reach for the prototype, and the entry would be lost.
    Object.defineProperty(into, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else into[key] = value;
}

/** Reads metadata up to the reader's end. */
function readMetadata(reader: ProtoReader): Metadata {
  let namespace = "", type = "", id = "", version = "", owner = "", phase = "";
  let created: Instant | undefined;
  let updated: Instant | undefined;
  let finalizers: string[] | undefined;
  let labels: Record<string, string> | undefined;
  let annotations: Record<string, string> | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if ((tag & 7) !== BYTES) {
      reader.skip(tag);
      continue;
    }
    switch (tag >>> 3) {
      case 1:
        namespace = reader.word();
        break;
      case 2:
        type = reader.word();
        break;
      case 3:
        id = reader.string();
        break;
      case 4:
        version = reader.word();
        break;
      case 5:
        owner = reader.word();
        break;
      case 6:
        phase = reader.word();
        break;
      case 7:
        created = readInstant(reader);
        break;
      case 8:
        updated = readInstant(reader);
        break;
      case 9:
        (finalizers ??= []).push(reader.word());
        break;
      case 10:
        readEntry(reader, labels ??= {});
        break;
      case 11:
        readEntry(reader, annotations ??= {});
        break;
      default:
        reader.skip(tag);
    }
  }
  return {
    namespace,
    type,
    id,
    version: parseVersion(version),
    owner,
    phase: parsePhase(phase),
    created,
    updated,
    finalizers: finalizers ?? EMPTY_LIST,
    labels: labels ?? EMPTY_RECORD,
    annotations: annotations ?? EMPTY_RECORD,
  };
}

/**
 * Takes apart the resource that the reader is in, up to its end; the positions are the reader's.
 *
 * Throws `invalidArgument` for bytes that are no resource, a missing metadata or spec, a version or a
 * phase that is none.
 */
export function readResource(reader: ProtoReader): ParsedResource {
  let metadata: Metadata | undefined;
  let specStart = 0;
  let specEnd = 0;
  let yamlSpec = "";
  let hasSpec = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag !== (1 << 3 | BYTES) && tag !== (2 << 3 | BYTES)) {
      reader.skip(tag);
      continue;
    }
    const outer = reader.enter();
    if (tag === (1 << 3 | BYTES)) metadata = readMetadata(reader);
    else {
      hasSpec = true;
      for (let inner = reader.tag(); inner !== 0; inner = reader.tag()) {
        if (inner === (1 << 3 | BYTES)) {
          specEnd = reader.fieldEnd();
          specStart = reader.at;
          reader.at = specEnd;
        } else if (inner === (2 << 3 | BYTES)) yamlSpec = reader.string();
        else reader.skip(inner);
      }
    }
    reader.leave(outer);
  }
  if (metadata === undefined) {
    throw new CodedError("invalidArgument", "Resource has no metadata");
  }
  if (!hasSpec) throw new CodedError("invalidArgument", "Resource has no spec");
  return { metadata, specStart, specEnd, yamlSpec };
}
