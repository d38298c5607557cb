// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Which of several servers is the active one: the holder of a key that is bound to a lease.
 *
 * Whoever holds the key renews the lease. One that is frozen or cut off cannot, the lease ends, the
 * key goes with it, and another server creates it anew. The revision of that creation is the fence:
 * every commit demands it, so that a server that comes back late can change nothing.
 *
 * @module
 */

import { type Clock, systemClock } from "../../base/clock.ts";
import { CodedError, codeOf, formatError } from "../../base/errors.ts";
import { Compare_CompareResult, Compare_CompareTarget } from "../../proto/gen/etcd/etcd_pb.ts";
import type { EtcdClient } from "./etcd_client.ts";

/** Options of {@linkcode campaign}. */
export interface CampaignOptions {
  readonly client: EtcdClient;
  /** The key that the active server holds. */
  readonly key: Uint8Array;
  /** How others name this server. */
  readonly identity: string;
  /** How long the lease lasts without renewal; a standby takes over about that long after a crash. */
  readonly ttlSeconds: number;
  /** Whether the holder of the key can only be a server that has ended. */
  readonly isAlone?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Is told whenever another server is seen to be the active one. */
  readonly onStandby?: ((active: string) => void) | undefined;
  /** Is told once that this server is not the active one any more. */
  readonly onLost: (error: CodedError) => void;
}

/** The right to write, until it is lost. */
export interface Leadership {
  /** The fence: the revision at which the key was created. */
  readonly createRevision: bigint;
  /** Why the right is lost; `undefined` as long as it is not. */
  lost(): CodedError | undefined;
  /** Gives the right up, so that a standby need not wait for the lease to end. */
  resign(): Promise<void>;
}

/** Between two looks at whether the active server is still there. */
const POLL_MS = 500;

/** A first start gives up after so long without any member. */
const UNREACHABLE_MS = 15_000;

/** Waits until this server is the active one. Throws `cancelled` when the signal aborts. */
export async function campaign(options: CampaignOptions): Promise<Leadership> {
  const { client, key, signal, onStandby, clock = systemClock } = options;
  const startMs = clock.nowMs();
  let reached = false;
  while (!signal?.aborted) {
    try {
      const { kvs: [holder] } = await client.range({ key });
      reached = true;
      if (holder !== undefined && options.isAlone) {
        await client.revokeLease(holder.lease);
        continue;
      }
      const won = holder === undefined ? await attempt(options) : undefined;
      if (won !== undefined) return keep(options, won);
      if (holder !== undefined) onStandby?.(new TextDecoder().decode(holder.value));
    } catch (error) {
      if (codeOf(error) !== "unavailable") throw error;
      if (!reached && clock.nowMs() - startMs > UNREACHABLE_MS) throw error;
    }
    await clock.sleep(POLL_MS, signal);
  }
  throw new CodedError("cancelled", "Cannot become the active server: stopped while standing by");
}

interface Won {
  readonly lease: bigint;
  readonly createRevision: bigint;
  readonly expiresAtMs: number;
}

/** Tries to create the key. */
async function attempt(options: CampaignOptions): Promise<Won | undefined> {
  const { client, key, identity, ttlSeconds } = options;
  const askedAtMs = performance.now();
  const { id: lease } = await client.grantLease(ttlSeconds);
  const { succeeded, header } = await client.txn({
    compare: [{
      key,
      target: Compare_CompareTarget.CREATE,
      result: Compare_CompareResult.EQUAL,
      targetUnion: { case: "createRevision", value: 0n },
    }],
    success: [{
      request: {
        case: "requestPut",
        value: { key, value: new TextEncoder().encode(identity), lease },
      },
    }],
  });
  if (succeeded && header !== undefined) {
    const expiresAtMs = askedAtMs + ttlSeconds * 1000;
    return { lease, createRevision: header.revision, expiresAtMs };
  }
  await client.revokeLease(lease);
  return undefined;
}

/** Renews the lease until it is given up or lost. */
function keep(options: CampaignOptions, won: Won): Leadership {
  const { client, ttlSeconds, onLost } = options;
  const periodMs = ttlSeconds * 1000 / 3;
  let { expiresAtMs } = won;
  let lost: CodedError | undefined;
  let resigned = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const lose = (reason: string): void => {
    if (lost !== undefined || resigned) return;
    lost = new CodedError(
      "aborted",
      `This server is not the active one any more: ${reason}; it must be started again`,
    );
    onLost(lost);
  };
  const renew = async (): Promise<void> => {
    let trouble = "etcd cannot be reached";
    const askedAtMs = performance.now();
    // A process that was frozen finds out here, before it does anything else.
    if (askedAtMs > expiresAtMs) return lose("it was stopped for longer than its lease");
    try {
      const ttl = await client.keepLease(won.lease, periodMs);
      if (ttl === 0) return lose("its lease has ended");
      expiresAtMs = askedAtMs + ttl * 1000;
    } catch (error) {
      trouble = formatError(error);
    }
    if (lost !== undefined || resigned) return;
    if (performance.now() > expiresAtMs) return lose(`its lease could not be renewed: ${trouble}`);
    // After a failure it tries again soon: another member may answer.
    const isRenewed = expiresAtMs > askedAtMs + periodMs;
    timer = setTimeout(renew, isRenewed ? periodMs : POLL_MS);
  };
  timer = setTimeout(renew, periodMs);
  return {
    createRevision: won.createRevision,
    lost() {
      if (performance.now() > expiresAtMs) lose("its lease has ended");
      return lost;
    },
    async resign() {
      if (resigned) return;
      resigned = true;
      clearTimeout(timer);
      if (lost === undefined) await client.revokeLease(won.lease).catch(() => {});
    },
  };
}
