// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Shows users which machines knock and are not let in.
 *
 * Only holders of a join token are shown, and only so many: everybody else could fill the state.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { JoinRefusal } from "../resources/link/join_refusal.ts";
import { putResource, removeResource } from "./put_resource.ts";
import { listResources, peekResource } from "./typed_state.ts";

/** Records refusals. */
export interface JoinRefusals {
  record(machineId: string, reason: string, remoteAddress: string): Promise<void>;
  /** The machine was let in. */
  clear(machineId: string): Promise<void>;
}

/** Refusals that are shown at the most. */
const SHOWN = 1_000;

/** A machine that knocks all the time is written down this often, in ms. */
const WRITE_EVERY_MS = 10_000;

/** Creates the record. */
export function createJoinRefusals(state: StateCore, clock: Clock): JoinRefusals {
  return {
    record: async (machineId, reason, remoteAddress) => {
      const known = peekResource(state, JoinRefusal, machineId);
      if (known === undefined && listResources(state, JoinRefusal).length >= SHOWN) return;
      const nowMs = clock.nowMs();
      const lastMs = Number(known?.spec.lastSeen?.seconds ?? 0n) * 1000;
      const isSame = known?.spec.reason === reason && known.spec.remoteAddress === remoteAddress;
      if (isSame && nowMs - lastMs < WRITE_EVERY_MS) return;
      const lastSeen = { seconds: BigInt(Math.floor(nowMs / 1000)), nanos: 0 };
      await putResource(state, JoinRefusal, {
        id: machineId,
        spec: { reason, remoteAddress, lastSeen },
      });
    },
    clear: async (machineId) => {
      if (peekResource(state, JoinRefusal, machineId) === undefined) return;
      await removeResource(state, JoinRefusal, machineId);
    },
  };
}
