// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The calls that Batuta makes on a machine, with the answers of old and new Talos evened out.
 *
 * Every call is bounded by a deadline and by the caller's signal. Errors carry the code of the
 * machine's answer; `unavailable` also stands for a failed TLS handshake.
 *
 * @module
 */

import { fromBinary } from "@bufbuild/protobuf";
import { codeOf } from "../base/errors.ts";
import { MachineConfigSpecSchema } from "../proto/gen/talos/config_pb.ts";
import {
  ApplyConfigurationRequest_Mode,
  ResetRequest_WipeMode,
} from "../proto/gen/talos/machine_pb.ts";
import type { TalosSession, TalosSessions } from "./session.ts";
import type { TalosTarget } from "./target.ts";

/** Options of each call. */
export interface TalosCallOptions {
  readonly signal?: AbortSignal;
}

/** A member of a cluster's etcd, as a machine sees it. */
export interface EtcdMember {
  readonly id: bigint;
  readonly hostname: string;
  readonly isLearner: boolean;
  readonly peerUrls: readonly string[];
}

/** What a machine says of its software. */
export interface TalosVersionAnswer {
  /** For example `v1.12.10`. */
  readonly tag: string;
  readonly arch: string;
  readonly platform: string;
}

/** Calls on machines. */
export interface TalosApi {
  version(target: TalosTarget, options?: TalosCallOptions): Promise<TalosVersionAnswer>;
  /** The configuration that a configured machine runs with; `undefined` when it has none. */
  readConfiguration(target: TalosTarget, options?: TalosCallOptions): Promise<string | undefined>;
  /** Applies a complete configuration; the machine reboots by itself where it must. */
  applyConfiguration(
    target: TalosTarget,
    config: Uint8Array,
    options?: TalosCallOptions,
  ): Promise<void>;
  /**
   * Starts etcd on the first control plane. A machine whose etcd runs is left alone, so that a call
   * whose answer was lost can be repeated.
   */
  bootstrap(target: TalosTarget, options?: TalosCallOptions): Promise<void>;
  /** Wipes the state of a machine, which then reboots into maintenance; its install stays. */
  reset(target: TalosTarget, graceful: boolean, options?: TalosCallOptions): Promise<void>;
  /** The members of etcd as this machine sees them. */
  etcdMembers(target: TalosTarget, options?: TalosCallOptions): Promise<readonly EtcdMember[]>;
  /** Hands the leadership on, if this machine has it, and takes its own member out. */
  etcdLeave(target: TalosTarget, options?: TalosCallOptions): Promise<void>;
  /** Takes another member out; etcd refuses it where its quorum would be lost. */
  etcdRemoveMember(target: TalosTarget, id: bigint, options?: TalosCallOptions): Promise<void>;
  /** Writes a key of META; `value` may be a secret. */
  metaWrite(
    target: TalosTarget,
    key: number,
    value: Uint8Array,
    options?: TalosCallOptions,
  ): Promise<void>;
}

const CALL_TIMEOUT_MS = 30_000;

// A graceful leave of etcd moves the leadership first and waits for the others.
const ETCD_TIMEOUT_MS = 60_000;

/** Partitions that make a machine a member of a cluster; META and the boot assets stay. */
const WIPED_PARTITIONS = ["EPHEMERAL", "STATE"];

/** The resource of the configuration in force. */
const ACTIVE_CONFIG = {
  namespace: "config",
  type: "MachineConfigs.config.talos.dev",
  id: "v1alpha1",
} as const;

/** Creates the calls over a table of sessions. */
export function createTalosApi(sessions: TalosSessions): TalosApi {
  const machine = (target: TalosTarget) => sessions.open(target).machine;
  return {
    version: async (target, options) => {
      const { messages } = await machine(target).version({}, bounded(options));
      const first = messages[0];
      return {
        tag: first?.version?.tag ?? "",
        arch: first?.version?.arch ?? "",
        platform: first?.platform?.name ?? "",
      };
    },
    readConfiguration: async (target, options) => {
      try {
        const { resource } = await sessions.open(target).state.get(
          ACTIVE_CONFIG,
          bounded(options),
        );
        const bytes = resource?.spec?.protoSpec ?? new Uint8Array();
        return new TextDecoder().decode(fromBinary(MachineConfigSpecSchema, bytes).yamlMarshalled);
      } catch (error) {
        if (codeOf(error) !== "notFound") throw error;
      }
    },
    applyConfiguration: async (target, data, options) => {
      const mode = ApplyConfigurationRequest_Mode.AUTO;
      await machine(target).applyConfiguration({ data, mode }, bounded(options));
    },
    bootstrap: async (target, options) => {
      if (await hasEtcd(machine(target), options)) return;
      try {
        await machine(target).bootstrap({}, bounded(options));
      } catch (error) {
        // A machine whose etcd already has data was bootstrapped by an attempt before.
        if (codeOf(error) !== "alreadyExists") throw error;
      }
    },
    reset: async (target, graceful, options) => {
      await machine(target).reset({
        graceful,
        reboot: true,
        mode: ResetRequest_WipeMode.ALL,
        systemPartitionsToWipe: WIPED_PARTITIONS.map((label) => ({ label, wipe: true })),
      }, bounded(options));
    },
    etcdMembers: async (target, options) => {
      const { messages } = await machine(target).etcdMemberList({}, bounded(options));
      return (messages[0]?.members ?? []).map(({ id, hostname, isLearner, peerUrls }) => ({
        id,
        hostname,
        isLearner,
        peerUrls,
      }));
    },
    etcdLeave: async (target, options) => {
      const client = machine(target);
      await client.etcdForfeitLeadership({}, bounded(options, ETCD_TIMEOUT_MS));
      await client.etcdLeaveCluster({}, bounded(options, ETCD_TIMEOUT_MS));
    },
    etcdRemoveMember: async (target, memberId, options) => {
      await machine(target).etcdRemoveMemberByID({ memberId }, bounded(options, ETCD_TIMEOUT_MS));
    },
    metaWrite: async (target, key, value, options) => {
      await machine(target).metaWrite({ key, value }, bounded(options));
    },
  };
}

/** Whether etcd answers on a machine; one that was not started refuses or does not answer. */
async function hasEtcd(
  machine: TalosSession["machine"],
  options: TalosCallOptions | undefined,
): Promise<boolean> {
  try {
    const { messages } = await machine.etcdMemberList({ queryLocal: true }, bounded(options));
    return (messages[0]?.members.length ?? 0) > 0;
  } catch {
    return false;
  }
}

function bounded(
  options: TalosCallOptions = {},
  timeoutMs = CALL_TIMEOUT_MS,
): { timeoutMs: number; signal?: AbortSignal } {
  return { timeoutMs, ...(options.signal === undefined ? {} : { signal: options.signal }) };
}
