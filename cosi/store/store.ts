// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What keeps the state over a restart. The core holds everything in memory; a store is asked once at
 * the start and then only told.
 *
 * @module
 */

import type { Kind, Ref } from "../resource.ts";
import type { Epoch } from "../state/bookmark.ts";
import type { RawResource } from "../state/raw_resource.ts";

/** A change of one resource. */
export interface StoreChange {
  readonly ref: Ref;
  /** What to store; `undefined` to remove. */
  readonly resource: RawResource | undefined;
  /** The position of the change in the history of the state. */
  readonly revision: number;
  /** The version that is stored before the change, 0 for none. */
  readonly storedVersion: number;
}

/** Changes that become durable together or not at all. No ID occurs twice. */
export interface StoreBatch {
  readonly changes: readonly StoreChange[];
  /** The revision of the state after this batch. */
  readonly revision: number;
  /** All epochs to remember, when they change. */
  readonly epochs?: readonly Epoch[];
  /** Whether to say that from here on all records are sealed with the current key. */
  readonly keyRotated?: boolean;
}

/** What a store holds at the start. */
export interface StoreImage {
  /** The revision of the state at its last commit, 0 for an empty one. */
  readonly revision: number;
  readonly epochs: readonly Epoch[];
  /** The revision of the last change of each kind, of those without resources too. */
  readonly kinds: readonly (Kind & { readonly revision: number })[];
  /** All resources in pieces that do not block the process for long. */
  readonly resources: AsyncIterable<readonly RawResource[]>;
}

/** A backing store. */
export interface Store {
  /** Whether `commit` has nothing to wait for, because nothing is kept. */
  readonly immediate: boolean;
  /** The most that one batch may hold; a single change may be larger, and then be refused. */
  readonly batchLimits?: { readonly changes: number; readonly bytes: number };
  /**
   * Reads what is stored. Throws with what is wrong and what to do about it when it cannot be read in
   * full: a state is never taken up in part.
   */
  load(): Promise<StoreImage>;
  /**
   * Makes a batch durable. One at a time.
   *
   * An error of code `resourceExhausted`, `unavailable` or `invalidArgument` says that nothing of the
   * batch was or will be stored, and that the store goes on. After any other error it is not known
   * what is stored, and the state must be opened again.
   */
  commit(batch: StoreBatch): Promise<void>;
  /** Leaves nothing behind of what was overwritten. */
  compact?(): Promise<void>;
  /** Releases everything; commits that run are finished first. */
  close(): Promise<void>;
}

/** A store that does some things in its own way, and all else as `inner` does. */
export function extendStore(inner: Store, own: Partial<Store>): Store {
  return {
    immediate: inner.immediate,
    ...(inner.batchLimits === undefined ? {} : { batchLimits: inner.batchLimits }),
    ...(inner.compact === undefined ? {} : { compact: inner.compact.bind(inner) }),
    load: () => inner.load(),
    commit: (batch) => inner.commit(batch),
    close: () => inner.close(),
    ...own,
  };
}

/** A store that needs something else for as long as it is open. */
export function closeAfter(store: Store, needed: { close(): Promise<void> }): Store {
  return extendStore(store, {
    async close() {
      try {
        await store.close();
      } finally {
        await needed.close();
      }
    },
  });
}
