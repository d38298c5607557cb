// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Transforms and effects: one item for each primary.
 *
 * @module
 */

import { Item, type ItemOptions } from "./item.ts";
import { labelEquals } from "./state_reader.ts";
import { itemOf } from "./triggers.ts";
import { idsOf, type Work } from "./work.ts";

/** Makes the work of a transform or an effect. */
export function deriveFrom(options: ItemOptions): Work {
  const item = new Item(options);
  const { state, controller: { name, primary, output } } = options;
  return {
    reconcile: (id, signal) => item.reconcile(id, signal),
    allIds: async () => {
      const ids = new Set(idsOf(await state.list(primary)));
      // An output may have lost its primary while nobody looked.
      for (const stored of await state.list(output.type)) {
        const id = itemOf(output.primaryLabel, name, stored);
        if (id !== undefined) ids.add(id);
      }
      return ids;
    },
    labelledIds: async (label, value) =>
      idsOf(await state.list(primary, { labelQueries: [{ terms: [labelEquals(label, value)] }] })),
  };
}
