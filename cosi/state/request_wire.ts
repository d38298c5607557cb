// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The requests of `cosi.resource.State`, written as a client sends them.
 *
 * @module
 */

import { create, toBinary } from "@bufbuild/protobuf";
import {
  DestroyRequestSchema,
  GetRequestSchema,
  LabelTerm_Operation,
  ListRequestSchema,
  WatchRequestSchema,
} from "../../proto/gen/cosi/resource_pb.ts";
import type { Kind, Ref } from "../resource.ts";
import type { LabelOp, LabelQuery } from "./label_query.ts";
import {
  BYTES,
  fieldSize,
  stringFieldSize,
  writeFieldHead,
  writeStringField,
} from "./proto_bytes.ts";
import { encodeResource } from "./resource_wire.ts";
import type { ResourceDraft, Selection, UpdateOptions, WatchKindOptions } from "./state.ts";

const OPERATIONS: Readonly<Record<LabelOp, LabelTerm_Operation>> = {
  exists: LabelTerm_Operation.EXISTS,
  equal: LabelTerm_Operation.EQUAL,
  in: LabelTerm_Operation.IN,
  lt: LabelTerm_Operation.LT,
  lte: LabelTerm_Operation.LTE,
  ltNumeric: LabelTerm_Operation.LT_NUMERIC,
  lteNumeric: LabelTerm_Operation.LTE_NUMERIC,
};

function labelQueries(queries: readonly LabelQuery[] = []) {
  return queries.map(({ terms }) => ({
    terms: terms.map(({ key, op, values, invert }) => ({
      key,
      op: OPERATIONS[op],
      value: [...values],
      invert,
    })),
  }));
}

function selectionFields({ labelQueries: queries, idRegexp }: Selection) {
  return {
    labelQuery: labelQueries(queries),
    ...(idRegexp === undefined ? {} : { idQuery: { regexp: idRegexp } }),
  };
}

/** Writes Get. */
export function writeGetRequest({ namespace, type, id }: Ref): Uint8Array {
  return toBinary(GetRequestSchema, create(GetRequestSchema, { namespace, type, id }));
}

/** Writes Teardown, Destroy and TeardownAndDestroy, which have one form. */
export function writeRefRequest({ namespace, type, id }: Ref, owner: string): Uint8Array {
  const request = create(DestroyRequestSchema, { namespace, type, id, options: { owner } });
  return toBinary(DestroyRequestSchema, request);
}

/** Writes List. */
export function writeListRequest({ namespace, type }: Kind, selection: Selection): Uint8Array {
  const request = create(ListRequestSchema, {
    namespace,
    type,
    options: selectionFields(selection),
  });
  return toBinary(ListRequestSchema, request);
}

/** Writes Watch; events come aggregated. */
export function writeWatchRequest(
  { namespace, type, id }: Kind & { readonly id?: string },
  options: Omit<WatchKindOptions, "signal">,
): Uint8Array {
  const request = create(WatchRequestSchema, {
    namespace,
    type,
    ...(id === undefined ? {} : { id }),
    options: {
      ...selectionFields(options),
      bootstrapContents: options.bootstrapContents ?? false,
      bootstrapBookmark: options.bootstrapBookmark ?? false,
      tailEvents: options.tailEvents ?? 0,
      aggregated: true,
      ...(options.startFromBookmark === undefined
        ? {}
        : { startFromBookmark: options.startFromBookmark }),
    },
    apiVersion: 1,
  });
  return toBinary(WatchRequestSchema, request);
}

/** Writes Create (resource 1, options 2) or Update (resource 2, options 3). */
export function writeWriteRequest(
  { metadata, protoSpec, yamlSpec }: ResourceDraft,
  resourceField: 1 | 2,
  { owner = "", expectedPhase = "" }: Omit<UpdateOptions, "expectedPhase"> & {
    readonly expectedPhase?: string | undefined;
  },
): Uint8Array {
  const { memory: message } = encodeResource(metadata, protoSpec, yamlSpec);
  const size = stringFieldSize(owner) + stringFieldSize(expectedPhase);
  const request = new Uint8Array(message.length + fieldSize(size));
  request.set(message);
  request[0] = resourceField << 3 | BYTES;
  let at = writeFieldHead(request, message.length, resourceField + 1, size);
  at = writeStringField(request, at, 1, owner);
  writeStringField(request, at, 2, expectedPhase);
  return request;
}
