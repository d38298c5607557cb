// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl delete`: marks resources for removal and waits until they are gone.
 *
 * @module
 */

import { codeOf } from "../base/errors.ts";
import type { Ref } from "../cosi/resource.ts";
import type { State } from "../cosi/state/state.ts";
import { type ConnectOptions, withState } from "./ctl_connect.ts";
import { untilInterrupted } from "./ctl_signal.ts";
import { resolveType } from "./ctl_types.ts";
import { readSelector } from "./ctl_usage.ts";
import { usageError } from "./usage.ts";

/** Options of `delete`. */
interface DeleteOptions extends ConnectOptions {
  readonly namespace?: string;
  readonly selector?: string;
  readonly wait: boolean;
}

/** After this long the user is told what a removal waits for, in milliseconds. */
const PATIENCE_MS = 2000;
/** So many removals run at once. */
const PARALLEL = 8;

/** Removes resources by ID or by selector. */
export async function runDelete(
  word: string,
  ids: readonly string[],
  parsed: object,
): Promise<void> {
  const options = parsed as DeleteOptions;
  const { selector } = options;
  if ((selector === undefined) === (ids.length === 0)) {
    throw usageError("delete needs either IDs or a selector");
  }
  const query = selector === undefined ? undefined : readSelector(selector);
  await withState(options, async (state) => {
    const definition = await resolveType(state, word);
    const namespace = options.namespace ?? definition.namespace;
    const kind = { namespace, type: definition.type };
    const found = query === undefined
      ? ids
      : (await state.list(kind, { labelQueries: [query] })).map(({ metadata }) => metadata.id);
    await untilInterrupted((signal) =>
      removeAll(state, found.map((id) => ({ ...kind, id })), options.wait, signal)
    );
  });
}

async function removeAll(
  state: State,
  refs: readonly Ref[],
  wait: boolean,
  signal: AbortSignal,
): Promise<void> {
  const queue = [...refs];
  const work = async (): Promise<void> => {
    for (let ref = queue.shift(); ref !== undefined; ref = queue.shift()) {
      if (wait) await removeOne(state, ref, signal);
      else await state.teardown(ref);
      console.log(`${ref.type}/${ref.id} ${wait ? "removed" : "marked for removal"}`);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

async function removeOne(state: State, ref: Ref, signal: AbortSignal): Promise<void> {
  const timer = setTimeout(() => void explainDelay(state, ref), PATIENCE_MS);
  try {
    await state.teardownAndDestroy(ref, { signal });
  } finally {
    clearTimeout(timer);
  }
}

async function explainDelay(state: State, ref: Ref): Promise<void> {
  try {
    const { metadata } = await state.get(ref);
    console.error(
      `${ref.type}/${ref.id} waits for ${metadata.finalizers.join(", ") || "the server"}`,
    );
  } catch (error) {
    // It is gone, or the removal itself will say what is wrong.
    if (codeOf(error) === undefined) throw error;
  }
}
