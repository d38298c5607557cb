// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The requests of `cosi.resource.State`, read from their bytes.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Phase, Ref } from "../resource.ts";
import type { LabelOp, LabelQuery, LabelTerm } from "./label_query.ts";
import { BYTES, ProtoReader, VARINT } from "./proto_bytes.ts";
import { parsePhase, readResource } from "./resource_reader.ts";
import type { ResourceDraft } from "./state.ts";

/** A request that names one resource: Get, Teardown, Destroy and TeardownAndDestroy. */
export interface RefRequest extends Ref {
  /** Empty where the request has none. */
  readonly owner: string;
}

/** Create and Update. */
export interface WriteRequest {
  readonly draft: ResourceDraft;
  readonly owner: string;
  readonly expectedPhase: Phase | undefined;
}

/** List. */
export interface ListRequest {
  readonly namespace: string;
  readonly type: string;
  readonly labelQueries: readonly LabelQuery[];
  readonly idRegexp: string;
}

/** Watch. */
export interface WatchRequest extends ListRequest {
  /** Absent for a watch of a kind. */
  readonly id: string | undefined;
  readonly apiVersion: number;
  readonly bootstrapContents: boolean;
  readonly bootstrapBookmark: boolean;
  readonly tailEvents: number;
  readonly aggregated: boolean;
  readonly startFromBookmark: Uint8Array | undefined;
}

function field(number: number, wireType: number): number {
  return number << 3 | wireType;
}

/** Reads a message field that holds nothing of interest but the string of its field 1. */
function readInnerString(reader: ProtoReader): string {
  const outer = reader.enter();
  let owner = "";
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(1, BYTES)) owner = reader.string();
    else reader.skip(tag);
  }
  reader.leave(outer);
  return owner;
}

/** Reads Get, Teardown, Destroy and TeardownAndDestroy, which have one form. */
export function readRefRequest(bytes: Uint8Array): RefRequest {
  const reader = new ProtoReader(bytes);
  let namespace = "", type = "", id = "", owner = "";
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(1, BYTES)) namespace = reader.word();
    else if (tag === field(2, BYTES)) type = reader.word();
    else if (tag === field(3, BYTES)) id = reader.string();
    else if (tag === field(4, BYTES)) owner = readInnerString(reader);
    else reader.skip(tag);
  }
  return { namespace, type, id, owner };
}

/** Reads Create (resource 1, options 2) and Update (resource 2, options 3). */
export function readWriteRequest(
  bytes: Uint8Array,
  resourceField: 1 | 2,
): WriteRequest {
  const reader = new ProtoReader(bytes);
  let draft: ResourceDraft | undefined;
  let owner = "";
  let expectedPhase: Phase | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(resourceField, BYTES)) {
      const outer = reader.enter();
      const { metadata, specStart, specEnd, yamlSpec } = readResource(reader);
      reader.leave(outer);
      draft = { metadata, protoSpec: bytes.subarray(specStart, specEnd), yamlSpec };
    } else if (tag === field(resourceField + 1, BYTES)) {
      const outer = reader.enter();
      for (let inner = reader.tag(); inner !== 0; inner = reader.tag()) {
        if (inner === field(1, BYTES)) owner = reader.string();
        else if (inner === field(2, BYTES) && resourceField === 2) {
          expectedPhase = parsePhase(reader.string());
        } else reader.skip(inner);
      }
      reader.leave(outer);
    } else reader.skip(tag);
  }
  if (draft === undefined) throw new CodedError("invalidArgument", "Request has no resource");
  return { draft, owner, expectedPhase };
}

/** The operations of the wire by number; number 2, the deprecated NOT_EXISTS, is `exists` inverted. */
const OPERATIONS: readonly LabelOp[] = [
  "exists",
  "equal",
  "exists",
  "in",
  "lt",
  "lte",
  "ltNumeric",
  "lteNumeric",
];
const NOT_EXISTS = 2;

function readTerm(reader: ProtoReader): LabelTerm {
  const outer = reader.enter();
  let key = "";
  let number = 0;
  const values: string[] = [];
  let invert = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(1, BYTES)) key = reader.string();
    else if (tag === field(2, VARINT)) number = reader.varint();
    else if (tag === field(3, BYTES)) values.push(reader.string());
    else if (tag === field(5, VARINT)) invert = reader.varint() !== 0;
    else reader.skip(tag);
  }
  reader.leave(outer);
  const op = OPERATIONS[number];
  if (op === undefined) {
    throw new CodedError("unimplemented", `Label operation ${number} is not supported`);
  }
  return { key, op, values, invert: number === NOT_EXISTS ? !invert : invert };
}

function readLabelQuery(reader: ProtoReader): LabelQuery {
  const outer = reader.enter();
  const terms: LabelTerm[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(1, BYTES)) terms.push(readTerm(reader));
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { terms };
}

/** Reads List. */
export function readListRequest(bytes: Uint8Array): ListRequest {
  const reader = new ProtoReader(bytes);
  let namespace = "", type = "", idRegexp = "";
  const labelQueries: LabelQuery[] = [];
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(1, BYTES)) namespace = reader.string();
    else if (tag === field(2, BYTES)) type = reader.string();
    else if (tag === field(3, BYTES)) {
      const outer = reader.enter();
      for (let inner = reader.tag(); inner !== 0; inner = reader.tag()) {
        if (inner === field(1, BYTES)) labelQueries.push(readLabelQuery(reader));
        else if (inner === field(2, BYTES)) idRegexp = readInnerString(reader);
        else reader.skip(inner);
      }
      reader.leave(outer);
    } else reader.skip(tag);
  }
  return { namespace, type, labelQueries, idRegexp };
}

/** Reads Watch. */
export function readWatchRequest(bytes: Uint8Array): WatchRequest {
  const reader = new ProtoReader(bytes);
  let namespace = "", type = "", apiVersion = 0;
  let id: string | undefined;
  let options = NO_OPTIONS;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(1, BYTES)) namespace = reader.string();
    else if (tag === field(2, BYTES)) type = reader.string();
    else if (tag === field(3, BYTES)) id = reader.string();
    else if (tag === field(4, BYTES)) options = readWatchOptions(reader);
    else if (tag === field(5, VARINT)) apiVersion = reader.int32();
    else reader.skip(tag);
  }
  return { namespace, type, id, apiVersion, ...options };
}

type WatchRequestOptions = Omit<WatchRequest, "namespace" | "type" | "id" | "apiVersion">;

const NO_OPTIONS: WatchRequestOptions = {
  labelQueries: [],
  idRegexp: "",
  bootstrapContents: false,
  bootstrapBookmark: false,
  tailEvents: 0,
  aggregated: false,
  startFromBookmark: undefined,
};

function readWatchOptions(reader: ProtoReader): WatchRequestOptions {
  const outer = reader.enter();
  const labelQueries: LabelQuery[] = [];
  let { idRegexp, bootstrapContents, bootstrapBookmark, tailEvents, aggregated } = NO_OPTIONS;
  let startFromBookmark: Uint8Array | undefined;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === field(1, VARINT)) bootstrapContents = reader.varint() !== 0;
    else if (tag === field(2, VARINT)) tailEvents = reader.int32();
    else if (tag === field(3, BYTES)) labelQueries.push(readLabelQuery(reader));
    else if (tag === field(4, BYTES)) idRegexp = readInnerString(reader);
    else if (tag === field(5, VARINT)) aggregated = reader.varint() !== 0;
    else if (tag === field(6, BYTES)) startFromBookmark = reader.bytes();
    else if (tag === field(7, VARINT)) bootstrapBookmark = reader.varint() !== 0;
    else reader.skip(tag);
  }
  reader.leave(outer);
  return {
    labelQueries,
    idRegexp,
    bootstrapContents,
    bootstrapBookmark,
    tailEvents,
    aggregated,
    startFromBookmark,
  };
}
