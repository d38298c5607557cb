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
import type { ReadyQueue } from "./ready_queue.ts";
import { Slicer } from "./slices.ts";
import type { StateEvent } from "./state.ts";
import type { Watcher } from "./watcher.ts";

/** Takes the messages of a stream; a promise says when it can take more. */
export interface Sink {
  send(message: Uint8Array): Promise<void> | undefined;
  /** The same for a message of `size` bytes in pieces. */
  sendParts(parts: readonly Uint8Array[], size: number): Promise<void> | undefined;
}

/** Options of {@linkcode streamWatch}. */
export interface WatchStreamOptions {
  readonly watcher: Watcher;
  readonly sink: Sink;
  readonly encode: (event: StateEvent) => Uint8Array;
  /** Adds to `parts` what `encode` returns, perhaps in pieces; returns how many bytes that is. */
  readonly encodeParts: (event: StateEvent, parts: Uint8Array[]) => number;
  /** Whether events that are pending together leave as one message. */
  readonly aggregated: boolean;
  /** Whether an event may be sent at all. */
  readonly accepts: (event: StateEvent) => boolean;
  /** Shares the thread among the streams that have something to send. */
  readonly queue: ReadyQueue;
}

/** An aggregated message is cut before this size, which clients still accept. */
const MESSAGE_BYTES = 28 << 20;

/** So many events are sent in one go; more of them, such as a bootstrap, in slices. */
const FEW_EVENTS = 64;

/** Settles when the watch ends; rejects with `resourceExhausted` after an overrun. */
export function streamWatch(options: WatchStreamOptions): Promise<void> {
  return new Promise((resolve, reject) => new WatchStream(options, resolve, reject).wake());
}

class WatchStream {
  readonly #options: WatchStreamOptions;
  readonly #resolve: () => void;
  readonly #reject: (error: unknown) => void;
  #isQueued = false;
  #isDone = false;
  /** Set while the stream waits or sends in slices: ends that when it is too late for it. */
  #interrupt: (() => void) | undefined;

  constructor(
    options: WatchStreamOptions,
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    options.watcher.onReady = () => this.wake();
  }

  /** Is called whenever there may be something to do. */
  wake(): void {
    if (this.#isQueued || this.#isDone) return;
    if (this.#interrupt !== undefined) {
      const { overrun, closed } = this.#options.watcher;
      if (overrun || closed) this.#interrupt();
      return;
    }
    this.#isQueued = true;
    this.#options.queue.add(this.#run);
  }

  readonly #run = (): void => {
    this.#isQueued = false;
    try {
      this.#sendPending();
    } catch (error) {
      // A fault with one event is the end of this stream, not of the others behind it.
      this.#finish(error);
    }
  };

  #sendPending(): void {
    const { watcher, accepts } = this.#options;
    while (!this.#isDone && this.#interrupt === undefined) {
      const events = watcher.take();
      if (events === undefined) {
        if (watcher.closed) this.#finish(undefined);
        return;
      }
      const accepted = events.every(accepts) ? events : events.filter(accepts);
      const last = events[events.length - 1];
      if (last?.type !== "errored") this.#sendAll(accepted);
      else {
        // It is the only one, and whether the client reads it is not waited for.
        for (const event of accepted) void this.#send(event);
        this.#finish(
          new CodedError("resourceExhausted", "The watch was too slow, and events are lost"),
        );
      }
    }
  }

  /** Sends at once what can be, and sees to it that the rest is sent. */
  #sendAll(events: readonly StateEvent[]): void {
    if (events.length > FEW_EVENTS) return this.#wait(this.#sendMany(events));
    if (this.#options.aggregated && events.length > 1) {
      return this.#wait(this.#sendTogether(events));
    }
    for (let i = 0; i < events.length; i++) {
      const event = events[i];
      const full = event && this.#send(event);
      if (full === undefined) continue;
      const rest = events.slice(i + 1);
      return this.#wait(rest.length === 0 ? full : this.#sendRest(full, rest));
    }
  }

  #send(event: StateEvent): Promise<void> | undefined {
    return this.#options.sink.send(this.#options.encode(event));
  }

  /** Goes on after something that takes time, or when it has become too late for it. */
  #wait(work: Promise<void>): void {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    this.#interrupt = resolve;
    Promise.race([work, late]).then(() => {
      this.#interrupt = undefined;
      this.wake();
    }, (error) => this.#finish(error));
  }

  async #sendRest(full: Promise<void>, rest: readonly StateEvent[]): Promise<void> {
    await full;
    if (this.#isUseful()) await this.#sendMany(rest);
  }

  async #sendMany(events: readonly StateEvent[]): Promise<void> {
    if (this.#options.aggregated) return await this.#sendTogether(events);
    const { sink, encodeParts } = this.#options;
    const slicer = new Slicer();
    for (const event of events) {
      const parts: Uint8Array[] = [];
      const size = encodeParts(event, parts);
      const pause = sink.sendParts(parts, size) ?? slicer.step();
      if (pause === undefined) continue;
      await pause;
      if (!this.#isUseful()) return;
    }
  }

  async #sendTogether(events: readonly StateEvent[]): Promise<void> {
    const { sink, encodeParts } = this.#options;
    const slicer = new Slicer();
    let parts: Uint8Array[] = [];
    let size = 0;
    for (const event of events) {
      const count = parts.length;
      const nextSize = encodeParts(event, parts);
      if (size > 0 && size + nextSize > MESSAGE_BYTES) {
        const next = parts.splice(count);
        await sink.sendParts(parts, size);
        if (!this.#isUseful()) return;
        parts = next;
        size = 0;
      }
      size += nextSize;
      const pause = slicer.step();
      if (pause !== undefined) await pause;
    }
    if (parts.length > 0 && this.#isUseful()) await sink.sendParts(parts, size);
  }

  /** Whether what is still to be sent can be of use: the watch goes on without a gap. */
  #isUseful(): boolean {
    const { overrun, closed } = this.#options.watcher;
    return !overrun && !closed;
  }

  #finish(error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const { watcher } = this.#options;
    watcher.onReady = undefined;
    watcher.close();
    if (error === undefined) this.#resolve();
    else this.#reject(error);
  }
}
