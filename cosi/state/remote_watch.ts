// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A watch over gRPC that outlives its connection.
 *
 * A broken stream is opened again at the bookmark of the last event, so that nothing is missed and
 * nothing comes twice. Where that is not possible the watch ends with an `errored` event.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { CodedError, codeOf, formatError } from "../../base/errors.ts";
import { backoffMs } from "../../base/retry.ts";
import type { RawStream } from "../../rpc/client.ts";
import type { Kind } from "../resource.ts";
import { decodeEvents } from "./event_wire.ts";
import { RawResource } from "./raw_resource.ts";
import { writeWatchRequest } from "./request_wire.ts";
import type { StateEvent, WatchKindOptions } from "./state.ts";

/** Waits between attempts to open a broken stream again. */
const BACKOFF = { initialMs: 100, maximumMs: 10_000 };

/** Options of {@linkcode openRemoteWatch}. */
export interface RemoteWatchOptions {
  /** Opens a stream and sends its request. */
  readonly open: (request: Uint8Array) => RawStream;
  readonly target: Kind & { readonly id?: string };
  readonly options: WatchKindOptions;
  readonly clock: Clock;
}

/** Opens a watch; settles when the server says that it stands. */
export async function openRemoteWatch(
  options: RemoteWatchOptions,
): Promise<AsyncIterable<readonly StateEvent[]>> {
  return follow(options, await begin(options, options.options));
}

/** Opens a stream and waits for the empty message that says that the watch stands. */
async function begin(
  { open, target }: RemoteWatchOptions,
  request: WatchKindOptions,
): Promise<RawStream> {
  const stream = open(writeWatchRequest(target, request));
  try {
    const { done } = await stream.messages.next();
    if (!done) return stream;
    throw new CodedError("unavailable", "Cannot watch: the server ended the watch at once");
  } catch (error) {
    stream.cancel();
    throw error;
  }
}

async function* follow(
  options: RemoteWatchOptions,
  first: RawStream,
): AsyncGenerator<readonly StateEvent[], void> {
  const { options: { signal } } = options;
  let bookmark: Uint8Array | undefined;
  let stream = first;
  try {
    for (;;) {
      let broken: unknown;
      try {
        for await (const message of stream.messages) {
          const events = decodeEvents(message);
          const last = events[events.length - 1];
          if (last === undefined) continue;
          bookmark = last.bookmark;
          yield events;
          if (last.type === "errored") return;
        }
      } catch (error) {
        broken = error;
      }
      if (signal.aborted) return;
      const next = bookmark === undefined ? undefined : await resume(options, bookmark);
      if (signal.aborted) return;
      if (next === undefined || next instanceof CodedError) {
        yield [errored(options.target, next ?? broken)];
        return;
      }
      stream = next;
    }
  } finally {
    stream.cancel();
  }
}

/** Opens the stream again; a `CodedError` when the server will not go on from the bookmark. */
async function resume(
  options: RemoteWatchOptions,
  startFromBookmark: Uint8Array,
): Promise<RawStream | CodedError | undefined> {
  const { clock, options: { signal, labelQueries, idRegexp } } = options;
  const request: WatchKindOptions = {
    startFromBookmark,
    signal,
    ...(labelQueries === undefined ? {} : { labelQueries }),
    ...(idRegexp === undefined ? {} : { idRegexp }),
  };
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await begin(options, request);
    } catch (error) {
      const code = codeOf(error);
      if (code !== "unavailable" && code !== "internal" && code !== "unknown") {
        return error instanceof CodedError
          ? error
          : new CodedError("unknown", "Cannot watch", { cause: error });
      }
    }
    await clock.sleep(backoffMs(attempt, BACKOFF), signal);
  }
  return undefined;
}

function errored({ namespace, type, id = "" }: RemoteWatchOptions["target"], reason: unknown) {
  const error = reason === undefined ? "The server ended the watch" : formatError(reason);
  return { type: "errored" as const, resource: RawResource.tombstone(namespace, type, id), error };
}
