// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Waits of tests: for a state, with a deadline, never for a time.
 *
 * @module
 */

import type { Ref } from "./resource.ts";
import type { RawResource } from "./state/raw_resource.ts";
import type { State } from "./state/state.ts";

/** How long a condition may take to come true; generous, because it is only a bound. */
const DEADLINE_MS = 20_000;
/** Between two looks at what has no watch. */
const LOOK_MS = 2;

/**
 * Tries at every change of a resource until `attempt` does not throw; at the deadline with what it
 * threw last.
 */
export async function untilChanged<R>(
  state: State,
  ref: Ref,
  attempt: (raw: RawResource | undefined) => R,
): Promise<R> {
  const abort = new AbortController();
  let failure: unknown = new Error("nothing was seen of it");
  const timer = setTimeout(() => abort.abort(), DEADLINE_MS);
  try {
    for await (const events of await state.watch(ref, { signal: abort.signal })) {
      const last = events.at(-1);
      if (last === undefined) continue;
      try {
        return attempt(last.type === "destroyed" ? undefined : last.resource);
      } catch (error) {
        failure = error;
      }
    }
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
  throw failure;
}

/** Tries again and again until `attempt` does not throw; at the deadline with what it threw last. */
export async function poll<R>(attempt: () => R): Promise<R> {
  const endMs = Date.now() + DEADLINE_MS;
  for (;;) {
    // Watches deliver in later turns of the event loop than the write that caused them.
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    try {
      return attempt();
    } catch (error) {
      if (Date.now() > endMs) throw error;
    }
  }
}
