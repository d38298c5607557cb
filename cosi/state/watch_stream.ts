// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Sends the events of one watch to one client.
 *
 * It sends what is pending whenever the client can take it. While the client cannot, the watch's
 * position stands still and nothing is buffered for it; when the history has moved on too far, the
 * client is told and the stream ends.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { Slicer } from "./slices.ts";
import type { StateEvent } from "./state.ts";
import type { Watcher } from "./watcher.ts";

/** Takes the messages of a stream; a promise says when it can take more. */
export interface Sink {
  send(message: Uint8Array): Promise<void> | undefined;
}

/** Options of {@linkcode streamWatch}. */
export interface WatchStreamOptions {
  readonly watcher: Watcher;
  readonly sink: Sink;
  readonly encode: (event: StateEvent) => Uint8Array;
  /** Whether events that are pending together leave as one message. */
  readonly aggregated: boolean;
  /** Whether an event may be sent at all. */
  readonly accepts: (event: StateEvent) => boolean;
}

/** An aggregated message is cut before this size, which clients still accept. */
const MESSAGE_BYTES = 28 << 20;

/** Runs until the watch ends; throws `resourceExhausted` after an overrun. */
export async function streamWatch(options: WatchStreamOptions): Promise<void> {
  const { watcher } = options;
  let wake = (): void => {};
  let isReady = false;
  watcher.onReady = () => {
    isReady = true;
    wake();
  };
  try {
    for (;;) {
      isReady = false;
      const events = watcher.take();
      if (events !== undefined) await sendEvents(options, events);
      else if (watcher.closed) return;
      else if (!isReady) await new Promise<void>((resolve) => wake = resolve);
      if (events?.[events.length - 1]?.type === "errored") {
        throw new CodedError("resourceExhausted", "The watch was too slow, and events are lost");
      }
    }
  } finally {
    watcher.onReady = undefined;
    watcher.close();
  }
}

async function sendEvents(
  options: WatchStreamOptions,
  events: readonly StateEvent[],
): Promise<void> {
  const { accepts } = options;
  const accepted = events.every(accepts) ? events : events.filter(accepts);
  if (options.aggregated) await sendTogether(options, accepted);
  else await sendOneByOne(options, accepted);
}

async function sendOneByOne(
  { watcher, sink, encode }: WatchStreamOptions,
  events: readonly StateEvent[],
): Promise<void> {
  const slicer = new Slicer();
  for (const event of events) {
    const full = sink.send(encode(event));
    if (full !== undefined && !await hasRoom(full, watcher)) return;
    const pause = slicer.step();
    if (pause !== undefined) await pause;
  }
}

async function sendTogether(
  { watcher, sink, encode }: WatchStreamOptions,
  events: readonly StateEvent[],
): Promise<void> {
  const slicer = new Slicer();
  let parts: Uint8Array[] = [];
  let size = 0;
  for (const event of events) {
    const part = encode(event);
    if (size > 0 && size + part.length > MESSAGE_BYTES) {
      const full = sink.send(concatenate(parts, size));
      if (full !== undefined && !await hasRoom(full, watcher)) return;
      parts = [];
      size = 0;
    }
    parts.push(part);
    size += part.length;
    const pause = slicer.step();
    if (pause !== undefined) await pause;
  }
  if (parts.length === 0) return;
  const full = sink.send(concatenate(parts, size));
  if (full !== undefined) await hasRoom(full, watcher);
}

function concatenate(parts: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Waits until the client takes more, or false as soon as that is too late for it. */
async function hasRoom(room: Promise<void>, watcher: Watcher): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const { onReady } = watcher;
  watcher.onReady = () => {
    onReady?.();
    if (watcher.overrun || watcher.closed) resolve();
  };
  await Promise.race([room, late]);
  watcher.onReady = onReady;
  return !watcher.overrun && !watcher.closed;
}
