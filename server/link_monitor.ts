// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writes into every Link whether its machine speaks and from where.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { codeOf } from "../base/errors.ts";
import type { StateCore } from "../cosi/state/core.ts";
import type { PeerStats, PeerTable } from "../link/peers.ts";
import { Link } from "../resources/link/link.ts";
import { peekResource, refOf, replaceResource } from "./typed_state.ts";

/** A peer without a handshake for longer than this is down: 180 s + 5 s + 90 s of the protocol. */
export const PEER_DOWN_MS = 275_000;

/** Between two looks at all peers, in ms. */
const LOOK_EVERY_MS = 10_000;

/** Between two looks while a machine that was just admitted has not shaken hands, in ms. */
const LOOK_SOON_MS = 200;

/** For how long such a machine is looked for that often, in ms. */
const EXPECT_FOR_MS = 30_000;

/** Options of {@linkcode createLinkMonitor}. */
export interface LinkMonitorOptions {
  readonly state: StateCore;
  readonly peers: PeerTable;
  readonly clock: Clock;
}

/** Watches the peers of the device. */
export interface LinkMonitor {
  /** Looks often until this machine has shaken hands under this key. */
  expect(machineId: string, publicKey: string): void;
  /** For how long the machine's present key is silent, in ms; `undefined` before the first look. */
  silentMs(machineId: string): number | undefined;
  /** Looks until the signal aborts; throws when the device fails. */
  run(signal: AbortSignal): Promise<void>;
}

/** Creates a monitor. */
export function createLinkMonitor({ state, peers, clock }: LinkMonitorOptions): LinkMonitor {
  const startMs = clock.nowMs();
  const expected = new Map<string, { readonly publicKey: string; readonly untilMs: number }>();
  // The key that each machine was admitted with, and since when it may speak.
  const admitted = new Map<string, { readonly publicKey: string; readonly sinceMs: number }>();
  let stats: ReadonlyMap<string, PeerStats> = new Map();
  let isFirst = true;
  let nap = new AbortController();
  const look = async (): Promise<void> => {
    stats = await peers.stats();
    isFirst = false;
    const nowMs = clock.nowMs();
    const changes = [...stats].map(([id, peer]) => {
      if (isUp(peer, nowMs) && expected.get(id)?.publicKey === peer.publicKey) expected.delete(id);
      return writeChange(state, id, peer, nowMs);
    });
    for (const [id, { untilMs }] of expected) if (untilMs <= nowMs) expected.delete(id);
    for (const id of admitted.keys()) {
      if (state.peek(refOf(Link, id)) === undefined) admitted.delete(id);
    }
    await Promise.all(changes);
  };
  return {
    expect: (machineId, publicKey) => {
      if (admitted.get(machineId)?.publicKey !== publicKey) {
        admitted.set(machineId, { publicKey, sinceMs: clock.nowMs() });
      }
      expected.set(machineId, { publicKey, untilMs: clock.nowMs() + EXPECT_FOR_MS });
      nap.abort();
    },
    silentMs: (machineId) => {
      if (isFirst) return undefined;
      // A key that the device never heard is silent since it could be heard at all.
      const sinceMs = admitted.get(machineId)?.sinceMs ?? startMs;
      return clock.nowMs() - Math.max(stats.get(machineId)?.lastHandshakeMs ?? 0, sinceMs);
    },
    run: async (signal) => {
      while (!signal.aborted) {
        await look();
        if (expected.size > 0) {
          await clock.sleep(LOOK_SOON_MS, signal);
          continue;
        }
        nap = new AbortController();
        await clock.sleep(LOOK_EVERY_MS, AbortSignal.any([signal, nap.signal]));
      }
    },
  };
}

function isUp({ lastHandshakeMs }: PeerStats, nowMs: number): boolean {
  return lastHandshakeMs > 0 && nowMs - lastHandshakeMs < PEER_DOWN_MS;
}

async function writeChange(
  state: StateCore,
  id: string,
  peer: PeerStats,
  nowMs: number,
): Promise<void> {
  const link = peekResource(state, Link, id);
  if (link === undefined || link.metadata.phase === "tearingDown") return;
  // The machine joined under a new key that the device has not been told yet.
  if (link.spec.nodePublicKey !== peer.publicKey) return;
  const connected = isUp(peer, nowMs);
  const lastEndpoint = peer.endpoint === "" ? link.spec.lastEndpoint : peer.endpoint;
  if (link.spec.connected === connected && link.spec.lastEndpoint === lastEndpoint) return;
  try {
    await replaceResource(state, Link, link, { spec: { ...link.spec, connected, lastEndpoint } });
  } catch (error) {
    // The machine joined again or was removed at this moment: the next look sees what is there.
    const code = codeOf(error);
    if (code !== "conflict" && code !== "phaseConflict" && code !== "notFound") throw error;
  }
}
