// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Ends the life of what users wrote, with the whole that it is a part of.
 *
 * @module
 */

import { codeOf } from "../base/errors.ts";
import type { TeardownPort } from "../controllers/cluster/teardown_port.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { refOf } from "./typed_state.ts";

/** Marks resources of users for removal, on behalf of controllers. */
export function createTeardownPort(state: StateCore): TeardownPort {
  return {
    tearDown: async (type, ids) => {
      await Promise.all(
        ids.map((id) => unlessGone(state.teardown(refOf(type, id), { owner: "" }))),
      );
    },
  };
}

/** Someone else was faster. */
async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (codeOf(error) !== "notFound") throw error;
  }
}
