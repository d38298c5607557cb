// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The store that keeps nothing: the state lives as long as its process.
 *
 * @module
 */

import type { RawResource } from "../state/raw_resource.ts";
import type { Store } from "./store.ts";

async function* nothing(): AsyncIterable<readonly RawResource[]> {}

/** Opens a store that keeps nothing. */
export function openMemoryStore(): Store {
  return {
    immediate: true,
    load: () => Promise.resolve({ revision: 0, epochs: [], kinds: [], resources: nothing() }),
    commit: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
