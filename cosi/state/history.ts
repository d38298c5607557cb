// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The last events of one kind, shared by all its watches.
 *
 * A watch is a position in here: it keeps no events of its own, so a reader that has stopped costs
 * nothing but its position, and is told of an overrun when that has fallen out.
 *
 * @module
 */

import { encodeBookmark } from "./bookmark.ts";
import type { RawResource } from "./raw_resource.ts";
import type { EventType, StateEvent } from "./state.ts";

/** An event of the state with its place in the order of all changes. */
export class KindEvent implements StateEvent {
  readonly type: EventType;
  readonly resource: RawResource;
  readonly old: RawResource | undefined;
  /** The position of the change in the history of the whole state. */
  readonly revision: number;
  readonly #cookie: bigint;
  #bookmark: Uint8Array | undefined;

  constructor(
    type: EventType,
    resource: RawResource,
    old: RawResource | undefined,
    revision: number,
    cookie: bigint,
  ) {
    this.type = type;
    this.resource = resource;
    this.old = old;
    this.revision = revision;
    this.#cookie = cookie;
  }

  get bookmark(): Uint8Array {
    return this.#bookmark ??= encodeBookmark(this.#cookie, this.revision);
  }

  /** What a filtered watch sees of this event when the resource enters or leaves its filter. */
  as(type: "created" | "destroyed"): KindEvent {
    return new KindEvent(type, this.resource, undefined, this.revision, this.#cookie);
  }
}

/** Bounds of a history. */
export interface HistoryLimits {
  /** The most events that are kept. */
  readonly events: number;
  /** The most bytes that the resources of the events may take. */
  readonly bytes: number;
}

/** Fewer events than this are never dropped for their bytes, so that tails and bookmarks work. */
const EVENTS_KEPT_ALWAYS = 128;

/** What an event alone holds: the resource after it is the one that the next event finds. */
function eventBytes({ old, resource }: KindEvent): number {
  return (old ?? resource).messageSize;
}

/** A bounded, ordered sequence of events; positions count from 0 over the life of the process. */
export class EventHistory {
  readonly #limits: HistoryLimits;
  #ring: (KindEvent | undefined)[] = [];
  #bytes = 0;
  /** Position of the oldest event kept. */
  #first = 0;
  /** Position after the newest event. */
  #head = 0;
  /** Revision of the newest event that is not kept any more, or was before this process. */
  #floorRevision: number;
  #lastRevision: number;

  constructor(limits: HistoryLimits, lastRevision: number) {
    this.#limits = limits;
    this.#floorRevision = lastRevision;
    this.#lastRevision = lastRevision;
  }

  /** The position after the newest event. */
  get head(): number {
    return this.#head;
  }

  /** The position of the oldest event that is kept. */
  get first(): number {
    return this.#first;
  }

  /** The revision of the newest event of the kind, also of one before this process. */
  get lastRevision(): number {
    return this.#lastRevision;
  }

  /** The event at a position from `first` up to, not including, `head`. */
  at(position: number): KindEvent | undefined {
    return this.#ring[position % this.#ring.length];
  }

  /** Adds the newest event and drops the oldest ones over the limits. */
  push(event: KindEvent): void {
    const size = this.#ring.length;
    if (this.#head - this.#first === size) this.#grow(Math.max(16, size * 2));
    this.#ring[this.#head % this.#ring.length] = event;
    this.#head++;
    this.#bytes += eventBytes(event);
    this.#lastRevision = event.revision;
    while (
      this.#head - this.#first > this.#limits.events ||
      (this.#bytes > this.#limits.bytes && this.#head - this.#first > EVENTS_KEPT_ALWAYS)
    ) this.#dropOldest();
  }

  #dropOldest(): void {
    const index = this.#first % this.#ring.length;
    const oldest = this.#ring[index];
    this.#ring[index] = undefined;
    this.#first++;
    if (oldest === undefined) return;
    this.#bytes -= eventBytes(oldest);
    this.#floorRevision = oldest.revision;
  }

  #grow(size: number): void {
    const ring = new Array<KindEvent | undefined>(size).fill(undefined);
    for (let position = this.#first; position < this.#head; position++) {
      ring[position % size] = this.at(position);
    }
    this.#ring = ring;
  }

  /** The position of the first event after a revision, or `undefined` when events are missing. */
  positionAfter(revision: number): number | undefined {
    if (revision < this.#floorRevision) return undefined;
    let low = this.#first;
    let high = this.#head;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.at(middle)?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
