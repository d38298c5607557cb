// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A state whose calls can be made to fail, for tests and the simulation.
 *
 * @module
 */

import type { Kind, Ref } from "./resource.ts";
import type { State, StateEvent } from "./state/state.ts";

/** A call of the state. */
export interface StateCall {
  readonly verb: keyof State;
  readonly on: Kind | Ref;
}

/** What happens around the calls. Each may throw in place of the call or of its answer. */
export interface Faults {
  /** Before the call: when it throws, nothing was done. */
  readonly before?: (call: StateCall) => void | Promise<void>;
  /** After the call: when it throws, the call was carried out but nobody hears of it. */
  readonly after?: (call: StateCall) => void | Promise<void>;
  /** Before a batch of events is handed out. */
  readonly onEvents?: (kind: Kind, events: readonly StateEvent[]) => void;
}

/** Puts faults between a state and who uses it. */
export function faultyState(state: State, faults: Faults): State {
  async function around<T>(verb: keyof State, on: Kind | Ref, call: () => Promise<T>): Promise<T> {
    await faults.before?.({ verb, on });
    const answer = await call();
    await faults.after?.({ verb, on });
    return answer;
  }
  async function* events(
    kind: Kind,
    batches: AsyncIterable<readonly StateEvent[]>,
  ): AsyncGenerator<readonly StateEvent[]> {
    for await (const batch of batches) {
      faults.onEvents?.(kind, batch);
      yield batch;
    }
  }
  return {
    get: (ref) => around("get", ref, () => state.get(ref)),
    list: (kind, selection) => around("list", kind, () => state.list(kind, selection)),
    create: (draft, options) =>
      around("create", draft.metadata, () => state.create(draft, options)),
    update: (draft, options) =>
      around("update", draft.metadata, () => state.update(draft, options)),
    teardown: (ref, options) => around("teardown", ref, () => state.teardown(ref, options)),
    destroy: (ref, options) => around("destroy", ref, () => state.destroy(ref, options)),
    teardownAndDestroy: (ref, options) =>
      around("teardownAndDestroy", ref, () => state.teardownAndDestroy(ref, options)),
    watch: async (ref, options) =>
      events(ref, await around("watch", ref, () => state.watch(ref, options))),
    watchKind: async (kind, options) =>
      events(kind, await around("watchKind", kind, () => state.watchKind(kind, options))),
  };
}
