// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One watch: a position in the history of a kind.
 *
 * @module
 */

import type { KindEvent } from "./history.ts";
import type { EventListener, KindTable } from "./kind_table.ts";
import { RawResource } from "./raw_resource.ts";
import type { Matcher } from "./selection.ts";
import type { StateEvent } from "./state.ts";

/** Options of {@linkcode Watcher}. */
export interface WatcherOptions {
  readonly table: KindTable;
  /** The only ID to watch. */
  readonly id: string | undefined;
  /** Which resources to watch; all when absent. */
  readonly matcher: Matcher | undefined;
  /** What comes before the history. */
  readonly initial: readonly StateEvent[];
  /** Position of the first event of the history. */
  readonly position: number;
  /** Ends the watch, as {@linkcode Watcher.close} does. */
  readonly signal?: AbortSignal | undefined;
}

type Result = IteratorResult<readonly StateEvent[], undefined>;

const DONE: Result = { done: true, value: undefined };

/** A watch; leaving the iteration ends it, and so does its signal. */
export class Watcher implements EventListener, AsyncIterableIterator<readonly StateEvent[]> {
  readonly #table: KindTable;
  readonly #id: string | undefined;
  readonly #matcher: Matcher | undefined;
  readonly #signal: AbortSignal | undefined;
  #initial: readonly StateEvent[];
  #position: number;
  /** Everything up to now is taken: the next event sets the position. */
  #parked = false;
  #closed = false;
  #waiting: ((result: Result) => void) | undefined;
  readonly #onAbort: (() => void) | undefined;
  /**
   * Is called when there may be something to take, and when the watch has ended; then nobody iterates.
   */
  onReady: (() => void) | undefined;

  constructor(options: WatcherOptions) {
    this.#table = options.table;
    this.#id = options.id;
    this.#matcher = options.matcher;
    this.#initial = options.initial;
    this.#position = options.position;
    if (options.signal?.aborted) {
      this.#closed = true;
      this.#table.releaseIfUnused();
      return;
    }
    if (options.signal !== undefined) {
      this.#signal = options.signal;
      this.#onAbort = () => this.close();
      this.#signal.addEventListener("abort", this.#onAbort, { once: true });
    }
    this.#table.listen(this, this.#id);
  }

  /** Ends the watch. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#initial = [];
    if (this.#onAbort !== undefined) this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#table.unlisten(this, this.#id);
    this.#waiting?.(DONE);
    this.#waiting = undefined;
    this.onReady?.();
  }

  /** Whether the watch has ended. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether events were lost because they were not taken in time. */
  get overrun(): boolean {
    return !this.#parked && this.#position < this.#table.history.first;
  }

  /** Is called by the table when there are events. */
  wake(position: number): void {
    if (this.#parked) {
      this.#parked = false;
      this.#position = position;
    }
    if (this.onReady !== undefined) return this.onReady();
    if (this.#waiting === undefined) return;
    const events = this.take();
    if (events === undefined) return;
    this.#waiting({ done: false, value: events });
    this.#waiting = undefined;
  }

  /** The events that are pending, `undefined` for none. */
  take(): readonly StateEvent[] | undefined {
    if (this.#initial.length > 0) {
      const initial = this.#initial;
      this.#initial = [];
      return initial;
    }
    if (this.#parked || this.#closed) return undefined;
    const { history, namespace, type } = this.#table;
    if (this.overrun) {
      this.close();
      return [{
        type: "errored",
        resource: RawResource.tombstone(namespace, type, this.#id ?? ""),
        error: "Watch overrun: the reader was too slow, and events are lost; watch again",
      }];
    }
    const events: StateEvent[] = [];
    for (let position = this.#position; position < history.head; position++) {
      const event = history.at(position);
      const seen = event && this.#seen(event);
      if (seen !== undefined) events.push(seen);
    }
    this.#position = history.head;
    this.#parked = true;
    return events.length === 0 ? undefined : events;
  }

  /** The event as this watch sees it. */
  #seen(event: KindEvent): StateEvent | undefined {
    if (this.#id !== undefined && event.resource.metadata.id !== this.#id) return undefined;
    const matcher = this.#matcher;
    if (matcher === undefined) return event;
    const matches = matcher(event.resource);
    if (event.old === undefined) return matches ? event : undefined;
    const matched = matcher(event.old);
    if (matches) return matched ? event : event.as("created");
    return matched ? event.as("destroyed") : undefined;
  }

  next(): Promise<Result> {
    const events = this.take();
    if (events !== undefined) return Promise.resolve({ done: false, value: events });
    if (this.#closed) return Promise.resolve(DONE);
    return new Promise((resolve) => this.#waiting = resolve);
  }

  return(): Promise<Result> {
    this.close();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
