// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The state itself: every resource in memory, changes made durable before anyone sees them.
 *
 * Architecture invariant: what a reader or a watcher has seen survives the end of the process, unless
 * its type is ephemeral; what was acknowledged is what was seen.
 *
 * @module
 */

import { type Clock, systemClock } from "../../base/clock.ts";
import { CodedError, codeOf } from "../../base/errors.ts";
import { type Logger, silentLogger } from "../../base/log.ts";
import type { Instant, Kind, Ref } from "../resource.ts";
import type { Store, StoreImage } from "../store/store.ts";
import { type Epoch, EPOCHS_KEPT, newCookie } from "./bookmark.ts";
import { type Change, CommitQueue } from "./commit_queue.ts";
import { type HistoryLimits, KindEvent } from "./history.ts";
import type { KindTable } from "./kind_table.ts";
import { RawResource } from "./raw_resource.ts";
import {
  decideCreate,
  decideDestroy,
  decideTeardown,
  decideUpdate,
  describeRef,
  notFound,
} from "./rules.ts";
import { compileSelection } from "./selection.ts";
import { inSlices } from "./slices.ts";
import { createStamp } from "./stamp.ts";
import type {
  OwnedWatch,
  ResourceDraft,
  Selection,
  State,
  StateEvent,
  UpdateOptions,
  WatchKindOptions,
  WatchOptions,
  WriteOptions,
} from "./state.ts";
import { Tables } from "./tables.ts";
import { startPosition } from "./watch_start.ts";
import { Watcher, type WatcherOptions } from "./watcher.ts";

/** Events of a kind that are kept: enough for a burst over many machines, bounded in bytes. */
const HISTORY: HistoryLimits = { events: 4096, bytes: 8 << 20 };

/** Options of {@linkcode openState}. */
export interface StateOptions {
  /** Where the state is kept; it is closed with the state. */
  readonly store: Store;
  /** Whether the resources of a type live in memory only. */
  readonly isEphemeral?: (type: string) => boolean;
  readonly clock?: Clock;
  readonly log?: Logger;
  /** Bounds of the events kept for each kind. */
  readonly history?: Partial<HistoryLimits>;
  /** Is told once when the store is broken: the process should end and start again. */
  readonly onFailure?: (error: unknown) => void;
}

/** The state, with what only its own process may ask. */
export interface StateCore extends State {
  /** The resource at this moment, `undefined` when it is not there. */
  peek(ref: Ref): RawResource | undefined;
  /** The resources of a kind at this moment, sorted by ID. For selections that an index serves. */
  snapshot(kind: Kind, selection?: Selection): readonly RawResource[];
  /** All namespaces and types that hold or held resources. */
  kinds(): readonly Kind[];
  /** The number of resources by namespace. */
  resourceCounts(): ReadonlyMap<string, number>;
  /** The number of open watches. */
  watchCount(): number;
  /** Like `create`, but without a promise where the write is made at once. Errors may be thrown. */
  createNow(draft: ResourceDraft, options: WriteOptions): RawResource | Promise<RawResource>;
  /** Like `update`, but without a promise where the write is made at once. Errors may be thrown. */
  updateNow(draft: ResourceDraft, options: UpdateOptions): RawResource | Promise<RawResource>;
  /** A watch whose events are taken instead of iterated. */
  openWatch(ref: Ref, options: OwnedWatch<WatchOptions>): Watcher;
  /** A watch of a kind whose events are taken instead of iterated. */
  openKindWatch(kind: Kind, options: OwnedWatch<WatchKindOptions>): Promise<Watcher>;
  /** Finishes the writes on their way, ends all watches and closes the store. */
  close(): Promise<void>;
}

/**
 * Opens the state: reads the store in full.
 *
 * Throws what the store throws when it cannot be read; the store is closed then.
 */
export async function openState(options: StateOptions): Promise<StateCore> {
  const { store, log = silentLogger, clock = systemClock } = options;
  const start = clock.nowMs();
  try {
    const image = await store.load();
    const epoch: Epoch = { cookie: newCookie(), startRevision: image.revision };
    const epochs = [...image.epochs.slice(1 - EPOCHS_KEPT), epoch];
    const core = new Core(options, image, epochs);
    let count = 0;
    for await (const resources of image.resources) {
      for (const resource of resources) core.restore(resource);
      count += resources.length;
    }
    if (!store.immediate) {
      await store.commit({ changes: [], revision: image.revision, epochs });
      log.info("state loaded", { count, durationMs: clock.nowMs() - start });
    }
    return core;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class Core implements StateCore {
  readonly #store: Store;
  readonly #now: () => Instant;
  readonly #epochs: readonly Epoch[];
  readonly #cookie: bigint;
  readonly #queue: CommitQueue;
  #closed = false;
  readonly #tables: Tables;

  constructor(options: StateOptions, image: StoreImage, epochs: readonly Epoch[]) {
    this.#store = options.store;
    this.#now = createStamp(options.clock ?? systemClock);
    const limits = { ...HISTORY, ...options.history };
    this.#tables = new Tables(options.isEphemeral ?? (() => false), limits);
    this.#epochs = epochs;
    this.#cookie = epochs[epochs.length - 1]?.cookie ?? 0n;
    for (const kind of image.kinds) this.#tables.obtain(kind, kind.revision);
    this.#queue = new CommitQueue({
      store: options.store,
      revision: image.revision,
      apply: (changes) => this.#apply(changes),
      onFailure: options.onFailure ?? (() => {}),
    });
  }

  /** Takes in a resource that the store held. */
  restore(resource: RawResource): void {
    this.#tables.obtain(resource.metadata).put(resource);
  }

  /** Makes durable changes visible and publishes them. */
  #apply(changes: readonly Change[]): void {
    const [only] = changes;
    if (only !== undefined && changes.length === 1) {
      only.table.publish([this.#applyOne(only)]);
      return;
    }
    const published = new Map<KindTable, KindEvent[]>();
    for (const change of changes) {
      const event = this.#applyOne(change);
      const events = published.get(change.table);
      if (events === undefined) published.set(change.table, [event]);
      else events.push(event);
    }
    for (const [table, events] of published) table.publish(events);
  }

  #applyOne({ table, id, stored, next, revision }: Change): KindEvent {
    if (next !== undefined) {
      table.put(next);
      const type = stored === undefined ? "created" : "updated";
      return new KindEvent(type, next, stored, revision, this.#cookie);
    }
    table.remove(id);
    // Whoever removes what is not there is refused before.
    const last = stored ?? RawResource.tombstone(table.namespace, table.type, id);
    return new KindEvent("destroyed", last, undefined, revision, this.#cookie);
  }

  peek(ref: Ref): RawResource | undefined {
    return this.#tables.find(ref)?.get(ref.id);
  }

  snapshot(kind: Kind, selection: Selection = {}): readonly RawResource[] {
    const matcher = compileSelection(selection);
    const found = this.#tables.find(kind)?.candidates(selection.labelQueries ?? []) ?? [];
    return matcher === undefined ? found : found.filter(matcher);
  }

  kinds(): readonly Kind[] {
    return Array.from(this.#tables.all(), ({ namespace, type }) => ({ namespace, type }));
  }

  resourceCounts(): ReadonlyMap<string, number> {
    return this.#tables.counts();
  }

  watchCount(): number {
    let count = 0;
    for (const table of this.#tables.all()) count += table.listenerCount;
    return count;
  }

  get(ref: Ref): Promise<RawResource> {
    const resource = this.peek(ref);
    return resource === undefined ? Promise.reject(notFound(ref)) : Promise.resolve(resource);
  }

  async list(kind: Kind, selection: Selection = {}): Promise<readonly RawResource[]> {
    const matcher = compileSelection(selection);
    const found = this.#tables.find(kind)?.candidates(selection.labelQueries ?? []) ?? [];
    return matcher === undefined ? found : await inSlices(found, matcher);
  }

  async create(draft: ResourceDraft, options: WriteOptions = {}): Promise<RawResource> {
    return await this.createNow(draft, options);
  }

  createNow(draft: ResourceDraft, options: WriteOptions): RawResource | Promise<RawResource> {
    const now = this.#now();
    const ref = draft.metadata;
    const table = this.#tables.obtain(ref);
    // A refused write must not leave behind the table that was made for it.
    const refuse = (error: unknown): never => {
      table.releaseIfUnused();
      throw error;
    };
    try {
      const created = this.#queue.submit(
        table,
        ref.id,
        (stored) => decideCreate(stored, draft, options, now),
      );
      if (!(created instanceof Promise)) return stored(created, ref);
      return created.then((resource) => stored(resource, ref), refuse);
    } catch (error) {
      return refuse(error);
    }
  }

  async update(draft: ResourceDraft, options: UpdateOptions = {}): Promise<RawResource> {
    return await this.updateNow(draft, options);
  }

  updateNow(draft: ResourceDraft, options: UpdateOptions): RawResource | Promise<RawResource> {
    const ref = draft.metadata;
    const updated = this.#existing(
      ref,
      (stored) => decideUpdate(stored, draft, options, this.#now()),
    );
    if (updated instanceof Promise) return updated.then((resource) => stored(resource, ref));
    return stored(updated, ref);
  }

  async teardown(ref: Ref, options: WriteOptions = {}): Promise<boolean> {
    const marked = await this.#existing(
      ref,
      (stored) => decideTeardown(stored, ref, options, this.#now()),
    );
    return stored(marked, ref).metadata.finalizers.length === 0;
  }

  async destroy(ref: Ref, options: WriteOptions = {}): Promise<void> {
    await this.#existing(ref, (stored) => {
      decideDestroy(stored, ref, options);
      return undefined;
    });
  }

  /** A write to what must exist; a kind that nobody has written is not made up for it. */
  #existing(
    ref: Ref,
    decide: (stored: RawResource | undefined) => RawResource | undefined,
  ): RawResource | undefined | Promise<RawResource | undefined> {
    const table = this.#tables.find(ref);
    if (table === undefined) throw notFound(ref);
    return this.#queue.submit(table, ref.id, decide);
  }

  async teardownAndDestroy(
    ref: Ref,
    options: WriteOptions & { signal?: AbortSignal } = {},
  ): Promise<void> {
    if (!await this.teardown(ref, options)) await this.#untilFree(ref, options.signal);
    try {
      await this.destroy(ref, options);
    } catch (error) {
      // Somebody else has finished the work.
      if (codeOf(error) === "notFound") return;
      throw error;
    }
  }

  /** Waits until a resource has no finalizers or is gone. */
  async #untilFree(ref: Ref, signal: AbortSignal | undefined): Promise<void> {
    const watch = this.openWatch(ref, signal === undefined ? {} : { signal });
    for await (const events of watch) {
      for (const { type, resource, error } of events) {
        if (type === "destroyed") return;
        if (type === "errored") throw new CodedError("unavailable", error ?? "Watch failed");
        if (resource.metadata.finalizers.length === 0) return;
      }
    }
    throw new CodedError("cancelled", `Cannot wait for the finalizers of ${describeRef(ref)}`);
  }

  watch(ref: Ref, options: WatchOptions): Promise<AsyncIterable<readonly StateEvent[]>> {
    try {
      return Promise.resolve(this.openWatch(ref, options));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  openWatch(ref: Ref, options: OwnedWatch<WatchOptions>): Watcher {
    const table = this.#tables.obtain(ref);
    const { history } = table;
    const initial: StateEvent[] = [];
    return this.#open(table, options, { id: ref.id, matcher: undefined, initial }, () => {
      const resource = table.get(ref.id);
      const type = resource === undefined ? "destroyed" : "created";
      initial.push(
        new KindEvent(
          type,
          resource ?? RawResource.tombstone(ref.namespace, ref.type, ref.id),
          undefined,
          history.lastRevision,
          this.#cookie,
        ),
      );
    });
  }

  watchKind(
    kind: Kind,
    options: WatchKindOptions,
  ): Promise<AsyncIterable<readonly StateEvent[]>> {
    return this.openKindWatch(kind, options);
  }

  async openKindWatch(kind: Kind, options: OwnedWatch<WatchKindOptions>): Promise<Watcher> {
    const matcher = compileSelection(options);
    const table = this.#tables.obtain(kind);
    const revision = table.history.lastRevision;
    const contents = options.bootstrapContents
      ? table.candidates(options.labelQueries ?? [])
      : undefined;
    const initial: StateEvent[] = [];
    const watcher = this.#open(table, options, { id: undefined, matcher, initial });
    const tombstone = RawResource.tombstone(kind.namespace, kind.type, "");
    if (contents !== undefined) {
      const selected = matcher === undefined ? contents : await inSlices(contents, matcher);
      for (const resource of selected) initial.push({ type: "created", resource });
      initial.push(new KindEvent("bootstrapped", tombstone, undefined, revision, this.#cookie));
    }
    if (options.bootstrapBookmark) {
      initial.push(new KindEvent("noop", tombstone, undefined, revision, this.#cookie));
    }
    return watcher;
  }

  /**
   * Opens a watch of a table.
   *
   * @param onNow Is called when the watch starts now and not at an earlier event.
   */
  #open(
    table: KindTable,
    options: OwnedWatch<WatchKindOptions>,
    watched: Pick<WatcherOptions, "id" | "matcher" | "initial">,
    onNow?: () => void,
  ): Watcher {
    try {
      const [epochs, revision] = [this.#epochs, this.#queue.revision];
      const start = startPosition({ table, id: watched.id, options, epochs, revision });
      if (this.#closed) throw new CodedError("unavailable", "Cannot watch: the state is closed");
      if (start === undefined) onNow?.();
      const position = start ?? table.history.head;
      return new Watcher({ table, ...watched, position, signal: options.signal });
    } catch (error) {
      // A refused watch must not leave behind the table that was made for it.
      table.releaseIfUnused();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#closed = true;
    for (const table of this.#tables.all()) table.closeListeners();
    await this.#store.close();
  }
}

/** What a write has stored; the queue answers with it unless the write removes. */
function stored(resource: RawResource | undefined, ref: Ref): RawResource {
  if (resource === undefined) throw notFound(ref);
  return resource;
}
