// SPDX-License-Identifier: AGPL-3.0-or-later

/** Tells where each machine stands in its cluster. @module */

import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import {
  ClusterMachineStatusSpec_Stage as Stage,
  ConfigApplyStatus,
} from "../../proto/gen/omni/specs_pb.ts";
import { MachineStatusEvent_MachineStage as MachineStage } from "../../proto/gen/talos/machine_pb.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineIdentity } from "../../resources/cluster/cluster_machine_identity.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import { LABEL_CONNECTED, LABEL_NODE_NAME } from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { MachineStatusSnapshot } from "../../resources/machine/machine_status_snapshot.ts";

/** What the status follows from besides the ClusterMachine. */
export interface ClusterMachineStatusFacts {
  readonly machine: Resource<typeof Machine> | undefined;
  readonly snapshot: Resource<typeof MachineStatusSnapshot> | undefined;
  readonly config: Resource<typeof ClusterMachineConfig> | undefined;
  readonly applied: Resource<typeof ClusterMachineConfigStatus> | undefined;
  readonly identity: Resource<typeof ClusterMachineIdentity> | undefined;
}

const MAPPED = [
  sameId(Machine),
  sameId(MachineStatusSnapshot),
  sameId(ClusterMachineConfig),
  sameId(ClusterMachineConfigStatus),
  sameId(ClusterMachineIdentity),
] as const;

/** Creates the controller. */
export function clusterMachineStatusController(): Controller {
  return defineController({
    name: "cluster.ClusterMachineStatusController",
    primary: ClusterMachine,
    mapped: MAPPED,
    output: ClusterMachineStatus,
    plansTeardown: true,
    keepsPrimary: false,
    gather: gatherClusterMachineStatusFacts,
    plan: planClusterMachineStatus,
  });
}

async function gatherClusterMachineStatusFacts(
  { metadata: { id } }: Resource<typeof ClusterMachine>,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<ClusterMachineStatusFacts> {
  return {
    machine: await reader.find(Machine, id),
    snapshot: await reader.find(MachineStatusSnapshot, id),
    config: await reader.find(ClusterMachineConfig, id),
    applied: await reader.find(ClusterMachineConfigStatus, id),
    identity: await reader.find(ClusterMachineIdentity, id),
  };
}

/** Derives the status. */
export function planClusterMachineStatus(
  clusterMachine: Resource<typeof ClusterMachine>,
  { machine, snapshot, config, applied, identity }: ClusterMachineStatusFacts,
): Plan<typeof ClusterMachineStatus> {
  const isConnected = machine?.spec.connected ?? false;
  const isLeaving = clusterMachine.metadata.phase === "tearingDown";
  const stage = isLeaving ? Stage.DESTROYING : stageOf(snapshot);
  const isApplied = config !== undefined && applied !== undefined &&
    applied.spec.clusterMachineConfigVersion === String(config.metadata.version) &&
    applied.spec.lastConfigError === "";
  const nodename = identity?.spec.nodename ?? "";
  return {
    kind: "write",
    spec: {
      ready: isConnected && stage === Stage.RUNNING &&
        (snapshot?.spec.machineStatus?.status?.ready ?? false),
      stage,
      configUpToDate: isApplied,
      lastConfigError: applied?.spec.lastConfigError || config?.spec.generationError || "",
      managementAddress: machine?.spec.managementAddress ?? "",
      configApplyStatus: applyStatusOf(isApplied, applied),
      isRemoved: isLeaving,
    },
    labels: {
      ...clusterMachine.metadata.labels,
      ...(isConnected ? { [LABEL_CONNECTED]: "" } : {}),
      ...(nodename === "" ? {} : { [LABEL_NODE_NAME]: nodename }),
    },
  };
}

function applyStatusOf(
  isApplied: boolean,
  applied: Resource<typeof ClusterMachineConfigStatus> | undefined,
): ConfigApplyStatus {
  if (isApplied) return ConfigApplyStatus.APPLIED;
  return applied !== undefined && applied.spec.lastConfigError !== ""
    ? ConfigApplyStatus.FAILED
    : ConfigApplyStatus.PENDING;
}

function stageOf(snapshot: Resource<typeof MachineStatusSnapshot> | undefined): Stage {
  switch (snapshot?.spec.machineStatus?.stage) {
    case MachineStage.BOOTING:
      return Stage.BOOTING;
    case MachineStage.INSTALLING:
      return Stage.INSTALLING;
    // A machine of a cluster that is in maintenance is about to get its configuration.
    case MachineStage.MAINTENANCE:
      return Stage.CONFIGURING;
    case MachineStage.RUNNING:
      return Stage.RUNNING;
    case MachineStage.REBOOTING:
      return Stage.REBOOTING;
    case MachineStage.SHUTTING_DOWN:
      return Stage.SHUTTING_DOWN;
    case MachineStage.RESETTING:
      return Stage.DESTROYING;
    case MachineStage.UPGRADING:
      return Stage.UPGRADING;
    default:
      return Stage.UNKNOWN;
  }
}
