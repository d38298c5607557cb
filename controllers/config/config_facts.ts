// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What decides about the configuration of a machine, and what it can be told.
 *
 * @module
 */

import type { Resource } from "../../cosi/resource.ts";
import type { RuntimeMachineStage as Stage } from "../../proto/gen/talos/resource/enums_pb.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import type { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import type { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import type { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import type { MachineStatus } from "../../resources/machine/machine_status.ts";
import type { TalosTarget } from "../../talos/target.ts";

/** What the decision depends on besides the ClusterMachine. */
export interface ConfigStatusFacts {
  readonly config: Resource<typeof ClusterMachineConfig> | undefined;
  readonly current: Resource<typeof ClusterMachineConfigStatus> | undefined;
  readonly forced: Resource<typeof NodeForceDestroyRequest> | undefined;
  readonly status: Resource<typeof MachineStatus> | undefined;
  /** The key of the present boot; empty for a machine whose Link is gone. */
  readonly boot: string;
  readonly isConnected: boolean;
  /**
   * The stage that the machine is in, from a session that stands; absent without one. What events
   * told may be old: a machine can have moved on while nobody listened.
   */
  readonly stage: Stage | undefined;
  /**
   * For a control plane that leaves: those that stay in the cluster and its etcd; 0 before etcd was
   * started, and for every other machine.
   */
  readonly otherEtcdMembers: number;
  /** How the others see the machine's etcd; absent while none of them is connected. */
  readonly etcdPeer: EtcdPeer | undefined;
  /** Absent for a machine that is gone. */
  readonly target: TalosTarget | undefined;
}

/** A control plane that stays, to be asked about the member of one that leaves. */
export interface EtcdPeer {
  readonly target: TalosTarget;
  /** The member of the machine that leaves; 0 when it never told. */
  readonly memberId: bigint;
  /** The members of the machines that stay; 0 for one that never told. */
  readonly otherMemberIds: readonly bigint[];
}

/** What the machine must be told. */
export type ConfigAction =
  | ApplyAction
  | ResetAction
  /** Makes sure that the machine, in maintenance, has not just taken a configuration. */
  | { readonly kind: "check"; readonly target: TalosTarget };

/** A machine to take back. */
export interface ResetAction {
  readonly kind: "reset";
  readonly target: TalosTarget;
  readonly leavesEtcd: boolean;
  readonly etcdPeer: EtcdPeer | undefined;
}

/** A configuration to apply. */
export interface ApplyAction {
  readonly kind: "apply";
  readonly target: TalosTarget;
  readonly config: Uint8Array;
  /** Hash of the configuration that the machine has; empty for none. */
  readonly previousSha256: string;
}

/** The status as it stands, for a decision that changes nothing of it. */
export function kept(
  { metadata: { labels } }: Resource<typeof ClusterMachine>,
  { metadata: { annotations }, spec }: Resource<typeof ClusterMachineConfigStatus>,
) {
  return { kind: "write", spec, labels, annotations } as const;
}
