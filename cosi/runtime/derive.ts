// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Transforms and effects: one item for each primary.
 *
 * @module
 */

import type { State } from "../state/state.ts";
import { Item, type ItemOptions } from "./item.ts";
import { labelEquals } from "./state_reader.ts";
import { idsOf, type Work } from "./work.ts";

/** Makes the work of a transform or an effect. */
export function deriveFrom(options: ItemOptions): Work {
  const item = new Item(options);
  const { state, controller: { primary } }: {
    state: State;
    controller: ItemOptions["controller"];
  } = options;
  return {
    reconcile: (id, signal) => item.reconcile(id, signal),
    allIds: async () => idsOf(await state.list(primary)),
    labelledIds: async (label, value) =>
      idsOf(await state.list(primary, { labelQueries: [{ terms: [labelEquals(label, value)] }] })),
  };
}
