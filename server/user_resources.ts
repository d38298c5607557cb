// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Ends the life of what users wrote: marks the parts of a whole, and removes what is marked.
 *
 * @module
 */

import { codeOf } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { TeardownPort } from "../controllers/cluster/teardown_port.ts";
import type { ResourceType } from "../cosi/resource.ts";
import type { StateCore } from "../cosi/state/core.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";
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

/**
 * Removes resources of the given types once they are marked, unowned and free of finalizers, until
 * the signal aborts: nobody else would, after a client that only marked them went away.
 */
export async function destroyTornDown(
  state: StateCore,
  types: readonly ResourceType[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(types.map(async ({ namespace, type }) => {
    const watch = await state.watchKind({ namespace, type }, { bootstrapContents: true, signal });
    for await (const events of watch) {
      for (const { type: event, resource } of events) {
        if (event !== "created" && event !== "updated") continue;
        if (!isReady(resource)) continue;
        await unlessGone(state.destroy(resource.metadata, { owner: "" }));
        log.info("resource removed", { type, id: resource.metadata.id });
      }
    }
  }));
}

function isReady({ metadata }: RawResource): boolean {
  return metadata.phase === "tearingDown" && metadata.owner === "" &&
    metadata.finalizers.length === 0;
}

/** Someone else was faster, or a finalizer came back: the next event tells. */
async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const code = codeOf(error);
    if (code !== "notFound" && code !== "conflict") throw error;
  }
}
