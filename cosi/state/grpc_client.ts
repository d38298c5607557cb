// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The state of another process, over gRPC: the same interface and the same rules as in process.
 *
 * @module
 */

import { type Clock, systemClock } from "../../base/clock.ts";
import { CodedError, codeOf, type ErrorCode } from "../../base/errors.ts";
import type { Channel } from "../../rpc/channel.ts";
import type { Kind } from "../resource.ts";
import { BYTES, ProtoReader, VARINT } from "./proto_bytes.ts";
import { RawResource } from "./raw_resource.ts";
import {
  writeGetRequest,
  writeListRequest,
  writeRefRequest,
  writeWriteRequest,
} from "./request_wire.ts";
import { openRemoteWatch } from "./remote_watch.ts";
import type { State, WatchKindOptions } from "./state.ts";

/** Options of {@linkcode createRemoteState}. */
export interface RemoteStateOptions {
  readonly clock?: Clock;
}

type Renames = Partial<Record<ErrorCode, ErrorCode>>;

// What a status means depends on the method; all other codes mean what they say.
const ON_CREATE: Renames = { permissionDenied: "ownerConflict" };
const ON_UPDATE: Renames = {
  permissionDenied: "ownerConflict",
  failedPrecondition: "conflict",
  invalidArgument: "phaseConflict",
};
const ON_REMOVAL: Renames = { permissionDenied: "ownerConflict", failedPrecondition: "conflict" };

/** The state behind a channel to a server of `cosi.resource.State`. */
export function createRemoteState(channel: Channel, options: RemoteStateOptions = {}): State {
  const { clock = systemClock } = options;
  const call = async (
    method: string,
    request: Uint8Array,
    renames: Renames,
    signal?: AbortSignal,
  ): Promise<Uint8Array> => {
    try {
      return await channel.rawCall(path(method), request, signal === undefined ? {} : { signal });
    } catch (error) {
      throw renamed(error, renames);
    }
  };
  const watch = (target: Kind & { readonly id?: string }, watchOptions: WatchKindOptions) =>
    openRemoteWatch({
      open: (request) => {
        const stream = channel.rawStream(path("Watch"), { signal: watchOptions.signal });
        void stream.send(request);
        stream.end();
        return stream;
      },
      target,
      options: watchOptions,
      clock,
    });
  return {
    async get(ref) {
      return resourceIn(await call("Get", writeGetRequest(ref), {}));
    },
    async list(kind, selection = {}) {
      const resources: RawResource[] = [];
      const stream = channel.rawStream(path("List"));
      void stream.send(writeListRequest(kind, selection));
      stream.end();
      for await (const reply of stream.messages) resources.push(resourceIn(reply));
      return resources;
    },
    async create(draft, { owner } = {}) {
      const request = writeWriteRequest(draft, 1, owner === undefined ? {} : { owner });
      return resourceIn(await call("Create", request, ON_CREATE));
    },
    async update(draft, updateOptions = {}) {
      const request = writeWriteRequest(draft, 2, updateOptions);
      return resourceIn(await call("Update", request, ON_UPDATE));
    },
    async teardown(ref, { owner = "" } = {}) {
      return isReady(await call("Teardown", writeRefRequest(ref, owner), ON_REMOVAL));
    },
    async destroy(ref, { owner = "" } = {}) {
      await call("Destroy", writeRefRequest(ref, owner), ON_REMOVAL);
    },
    async teardownAndDestroy(ref, { owner = "", signal } = {}) {
      const request = writeRefRequest(ref, owner);
      await call("TeardownAndDestroy", request, ON_REMOVAL, signal);
    },
    watch: ({ namespace, type, id }, watchOptions) => watch({ namespace, type, id }, watchOptions),
    watchKind: ({ namespace, type }, watchOptions) => watch({ namespace, type }, watchOptions),
  };
}

function path(method: string): string {
  return `/cosi.resource.State/${method}`;
}

function renamed(error: unknown, renames: Renames): unknown {
  const code = codeOf(error);
  const name = code && renames[code];
  if (name === undefined) return error;
  return new CodedError(name, (error as CodedError).message, { cause: error });
}

/** The resource in field 1 of a reply. */
function resourceIn(reply: Uint8Array): RawResource {
  const reader = new ProtoReader(reply);
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === (1 << 3 | BYTES)) return RawResource.fromWire(reader.bytes());
    reader.skip(tag);
  }
  throw new CodedError("internal", "Cannot read the reply of the state: it holds no resource");
}

/** The answer of Teardown. */
function isReady(reply: Uint8Array): boolean {
  const reader = new ProtoReader(reply);
  let ready = false;
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === (1 << 3 | VARINT)) ready = reader.varint() !== 0;
    else reader.skip(tag);
  }
  return ready;
}
