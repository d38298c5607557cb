// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * All that is in memory about the resources of one type in one namespace.
 *
 * @module
 */

import { StringTable } from "../../base/string_table.ts";
import { EventHistory, type HistoryLimits, type KindEvent } from "./history.ts";
import { LabelIndex } from "./label_index.ts";
import { compareCodePoints, type LabelQuery } from "./label_query.ts";
import type { RawResource } from "./raw_resource.ts";
import { sameRecord } from "./same_record.ts";
import { type Slot, SortedSlots } from "./sorted_slots.ts";

/** Is told that events were published. */
export interface EventListener {
  /** @param position Where the events are in the history; those of the listener may be later. */
  wake(position: number): void;
  /** Is told that there will be no more events. */
  close(): void;
}

/** The resources, their indexes, events and watchers of one kind. */
export class KindTable {
  readonly namespace: string;
  readonly type: string;
  /** Whether the resources live in memory only. */
  readonly ephemeral: boolean;
  readonly history: EventHistory;
  /** Writes on their way: the kind is needed although it is still empty. */
  writers = 0;
  readonly #slots = new StringTable<Slot>();
  readonly #sorted = new SortedSlots();
  readonly #labels = new LabelIndex();
  readonly #listeners = new Set<EventListener>();
  readonly #listenersById = new Map<string, Set<EventListener>>();
  readonly #onUnused: (table: KindTable) => void;

  constructor(options: {
    readonly namespace: string;
    readonly type: string;
    readonly ephemeral: boolean;
    readonly limits: HistoryLimits;
    /** The revision of the last change before this process. */
    readonly lastRevision: number;
    /** Is told when nobody needs a kind any more that nobody has ever written to. */
    readonly onUnused: (table: KindTable) => void;
  }) {
    this.namespace = options.namespace;
    this.type = options.type;
    this.ephemeral = options.ephemeral;
    this.history = new EventHistory(options.limits, options.lastRevision);
    this.#onUnused = options.onUnused;
  }

  get size(): number {
    return this.#slots.size;
  }

  get(id: string): RawResource | undefined {
    return this.#slots.get(id)?.resource;
  }

  /** Stores a resource in place of the one with its ID. */
  put(resource: RawResource): void {
    const { id, labels } = resource.metadata;
    const slot = this.#slots.get(id);
    if (slot === undefined) {
      const fresh = { id, resource };
      this.#slots.set(id, fresh);
      this.#sorted.insert(fresh);
      this.#labels.add(fresh, labels);
      return;
    }
    const before = slot.resource.metadata.labels;
    slot.resource = resource;
    if (sameRecord(before, labels)) return;
    this.#labels.remove(slot, before);
    this.#labels.add(slot, labels);
  }

  /** Removes a resource that is there. */
  remove(id: string): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    this.#slots.delete(id);
    this.#sorted.remove(id);
    this.#labels.remove(slot, slot.resource.metadata.labels);
  }

  /** All resources, sorted by ID. */
  all(): RawResource[] {
    return this.#sorted.toArray();
  }

  /**
   * The resources, sorted by ID, among which are all that match the queries: far fewer than all where
   * an index helps.
   */
  candidates(queries: readonly LabelQuery[]): RawResource[] {
    const slots = this.#labels.candidates(queries);
    if (slots === undefined) return this.all();
    const resources = Array.from(slots, (slot) => slot.resource);
    return resources.sort((a, b) => compareCodePoints(a.metadata.id, b.metadata.id));
  }

  /** Adds a listener for all events, or for those of one ID. */
  listen(listener: EventListener, id: string | undefined): void {
    if (id === undefined) {
      this.#listeners.add(listener);
      return;
    }
    const ofId = this.#listenersById.get(id);
    if (ofId === undefined) this.#listenersById.set(id, new Set([listener]));
    else ofId.add(listener);
  }

  /** Removes a listener. */
  unlisten(listener: EventListener, id: string | undefined): void {
    if (id === undefined) this.#listeners.delete(listener);
    else {
      const ofId = this.#listenersById.get(id);
      ofId?.delete(listener);
      if (ofId?.size === 0) this.#listenersById.delete(id);
    }
    this.releaseIfUnused();
  }

  /** Lets go of a kind that nobody watches or has ever written to; for a request that was refused. */
  releaseIfUnused(): void {
    if (
      this.history.lastRevision === 0 && this.#listeners.size === 0 &&
      this.#listenersById.size === 0
    ) this.#onUnused(this);
  }

  /** How many watches there are. */
  get listenerCount(): number {
    let count = this.#listeners.size;
    for (const ofId of this.#listenersById.values()) count += ofId.size;
    return count;
  }

  /** Ends all watches. */
  closeListeners(): void {
    for (const listener of [...this.#listeners]) listener.close();
    for (const ofId of [...this.#listenersById.values()]) {
      for (const listener of [...ofId]) listener.close();
    }
  }

  /** Appends events that have become visible and wakes those who wait for them. */
  publish(events: readonly KindEvent[]): void {
    const start = this.history.head;
    for (const event of events) this.history.push(event);
    for (const listener of this.#listeners) listener.wake(start);
    if (this.#listenersById.size === 0) return;
    let position = start;
    for (const event of events) {
      const ofId = this.#listenersById.get(event.resource.metadata.id);
      if (ofId !== undefined) { for (const listener of ofId) listener.wake(position); }
      position++;
    }
  }
}
