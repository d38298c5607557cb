// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The state as everything above it sees it: in process and over gRPC the same rules.
 *
 * Errors are `CodedError`: `notFound`, `alreadyExists`, `conflict` (version or finalizers),
 * `ownerConflict`, `phaseConflict`, `invalidArgument`, `failedPrecondition` (bookmark),
 * `resourceExhausted` (overrun of a watch), `unavailable` (closed, or the store fails), `cancelled`.
 *
 * @module
 */

import type { Kind, Metadata, Phase, Ref } from "../resource.ts";
import type { LabelQuery } from "./label_query.ts";
import type { RawResource } from "./raw_resource.ts";

/** Selects resources of a kind. */
export interface Selection {
  /** Alternatives; each is a conjunction of terms. None at all selects everything. */
  readonly labelQueries?: readonly LabelQuery[];
  /** A regular expression in RE2 syntax, searched unanchored in the ID. */
  readonly idRegexp?: string;
}

/** What happened; `bootstrapped` and `noop` carry a tombstone, `errored` ends the watch. */
export type EventType = "created" | "updated" | "destroyed" | "bootstrapped" | "noop" | "errored";

/** One change of the state. */
export interface StateEvent {
  readonly type: EventType;
  readonly resource: RawResource;
  /** The resource before an `updated`. */
  readonly old?: RawResource | undefined;
  /** From here a watch can go on; absent where there is no such point. */
  readonly bookmark?: Uint8Array | undefined;
  /** Why the watch ended, for `errored`. */
  readonly error?: string | undefined;
}

/** Options of a watch of one resource. */
export interface WatchOptions {
  readonly tailEvents?: number;
  readonly startFromBookmark?: Uint8Array;
  readonly signal: AbortSignal;
}

/** Options of a watch of a kind. */
export interface WatchKindOptions extends WatchOptions, Selection {
  /** Sends what exists first, then one `bootstrapped`. */
  readonly bootstrapContents?: boolean;
  /** Sends one `noop` with a bookmark first. */
  readonly bootstrapBookmark?: boolean;
}

/** Options of a watch that may lack a signal, because its owner closes it. */
export type OwnedWatch<T extends WatchOptions> = Omit<T, "signal"> & Partial<Pick<T, "signal">>;

/** What a writer gives to create or update a resource. */
export interface ResourceDraft {
  readonly metadata: Metadata;
  readonly protoSpec: Uint8Array;
  /** Text for types that nobody declared; empty otherwise. */
  readonly yamlSpec: string;
}

/** Who writes: the owner that a resource has or must have; empty for a user. */
export interface WriteOptions {
  readonly owner?: string;
}

/** Options of an update. */
export interface UpdateOptions extends WriteOptions {
  /** The phase that the stored resource must be in; any when absent. */
  readonly expectedPhase?: Phase;
}

/** The state. */
export interface State {
  get(ref: Ref): Promise<RawResource>;
  /** Sorted by ID in byte order; empty for a kind that does not exist. */
  list(kind: Kind, selection?: Selection): Promise<readonly RawResource[]>;
  create(draft: ResourceDraft, options?: WriteOptions): Promise<RawResource>;
  /** The draft's version must be the stored one. */
  update(draft: ResourceDraft, options?: UpdateOptions): Promise<RawResource>;
  /** Marks for removal; true when no finalizer is left, so that it may be destroyed. */
  teardown(ref: Ref, options?: WriteOptions): Promise<boolean>;
  destroy(ref: Ref, options?: WriteOptions): Promise<void>;
  /** Marks for removal, waits for the finalizers, removes. */
  teardownAndDestroy(ref: Ref, options?: WriteOptions & { signal?: AbortSignal }): Promise<void>;
  /**
   * Watches one resource: first its present state (`created`, or `destroyed` with a tombstone), then
   * its changes. The call settles when the watch stands; each item holds the events that were
   * pending together, in order and never empty.
   */
  watch(ref: Ref, options: WatchOptions): Promise<AsyncIterable<readonly StateEvent[]>>;
  /** Watches a kind; the whole bootstrap is one item. */
  watchKind(kind: Kind, options: WatchKindOptions): Promise<AsyncIterable<readonly StateEvent[]>>;
}
