// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Watches how a store takes the writes of the state.
 *
 * @module
 */

import { formatError } from "../base/errors.ts";
import type { BackendHealth, BackendPort } from "../controllers/system/backend_status.ts";
import type { Observation } from "../cosi/collector.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { extendStore, type Store } from "../cosi/store/store.ts";

/** A store and what is known of it. */
export interface WatchedStore {
  readonly store: Store;
  readonly backend: BackendPort;
}

/** The state and what is known of the store below it. */
export interface WatchedState {
  readonly state: StateCore;
  readonly backend: BackendPort;
}

/** Stands before a store and notes how each commit ended. */
export function watchStore(store: Store, kind: string): WatchedStore {
  let health: BackendHealth = { kind, error: "" };
  let changed = Promise.withResolvers<void>();
  const note = (error: string): void => {
    if (error === health.error) return;
    health = { kind, error };
    changed.resolve();
    changed = Promise.withResolvers();
  };
  return {
    store: extendStore(store, {
      async commit(batch) {
        try {
          await store.commit(batch);
        } catch (error) {
          note(formatError(error));
          throw error;
        }
        note("");
      },
    }),
    backend: {
      async *observe({ signal }) {
        const stopped = new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true })
        );
        while (!signal.aborted) {
          // Taken before the value: a change in between is seen at the next turn.
          const next = changed.promise;
          yield { kind: "observed", id: "backend", value: health } satisfies Observation<
            BackendHealth
          >;
          await Promise.race([next, stopped]);
        }
      },
    },
  };
}
