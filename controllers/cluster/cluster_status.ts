// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Sums up a cluster, and takes it apart when it is removed: its machine sets first, then what else
 * its user wrote for it.
 *
 * @module
 */

import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import type { Resource, ResourceType } from "../../cosi/resource.ts";
import {
  ClusterStatusSpec_Phase as Phase,
  MachineSetPhase,
} from "../../proto/gen/omni/specs_pb.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { ClusterStatus } from "../../resources/cluster/cluster_status.ts";
import { LoadBalancerStatus } from "../../resources/cluster/load_balancer_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetStatus } from "../../resources/cluster/machine_set_status.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import {
  LABEL_CLUSTER,
  LABEL_CONNECTED,
  LABEL_CONTROL_PLANE_ROLE,
} from "../../resources/labels.ts";
import { listed } from "./listed.ts";
import type { TeardownPort } from "./teardown_port.ts";

/** The parts of a cluster. */
export interface ClusterStatusFacts {
  readonly sets: readonly Resource<typeof MachineSet>[];
  readonly setStatuses: readonly Resource<typeof MachineSetStatus>[];
  readonly machines: readonly Resource<typeof ClusterMachineStatus>[];
  readonly patches: readonly Resource<typeof ConfigPatch>[];
  readonly balancer: Resource<typeof LoadBalancerStatus> | undefined;
  readonly configVersion: Resource<typeof ClusterConfigVersion> | undefined;
}

/** Resources of a user are to be removed. */
export interface TearDownParts {
  readonly type: ResourceType;
  readonly ids: readonly string[];
}

const MAPPED = [
  byLabel(MachineSet, LABEL_CLUSTER),
  byLabel(MachineSetStatus, LABEL_CLUSTER),
  byLabel(ClusterMachineStatus, LABEL_CLUSTER),
  byLabel(ConfigPatch, LABEL_CLUSTER),
  sameId(LoadBalancerStatus),
  sameId(ClusterConfigVersion),
] as const;

/** Creates the controller. */
export function clusterStatusController(
  { teardown }: { readonly teardown: TeardownPort },
): Controller {
  return defineController({
    name: "cluster.ClusterStatusController",
    primary: Cluster,
    mapped: MAPPED,
    output: ClusterStatus,
    plansTeardown: true,
    gather: gatherClusterStatusFacts,
    plan: planClusterStatus,
    act: (_cluster, { type, ids }, { signal }) => teardown.tearDown(type, ids, { signal }),
  });
}

async function gatherClusterStatusFacts(
  { metadata: { id } }: Resource<typeof Cluster>,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<ClusterStatusFacts> {
  const options = { labels: { [LABEL_CLUSTER]: id } };
  return {
    sets: await reader.list(MachineSet, options),
    setStatuses: await reader.list(MachineSetStatus, options),
    machines: await reader.list(ClusterMachineStatus, options),
    patches: await reader.list(ConfigPatch, options),
    balancer: await reader.find(LoadBalancerStatus, id),
    configVersion: await reader.find(ClusterConfigVersion, id),
  };
}

/** Derives the status, and what to remove next when the cluster is being removed. */
export function planClusterStatus(
  cluster: Resource<typeof Cluster>,
  facts: ClusterStatusFacts,
): Plan<typeof ClusterStatus, TearDownParts> {
  return cluster.metadata.phase === "tearingDown"
    ? planTeardown(cluster, facts)
    : { kind: "write", spec: statusOf(cluster, facts), labels: cluster.metadata.labels };
}

function planTeardown(
  cluster: Resource<typeof Cluster>,
  facts: ClusterStatusFacts,
): Plan<typeof ClusterStatus, TearDownParts> {
  const { sets, patches } = facts;
  const parts = sets.length > 0
    ? { type: MachineSet, what: "machine sets", left: sets }
    : { type: ConfigPatch, what: "configuration patches", left: patches };
  if (parts.left.length === 0) return { kind: "destroy", reason: "nothing of the cluster is left" };
  const running = parts.left.filter(({ metadata }) => metadata.phase === "running");
  return {
    kind: "write",
    spec: { ...statusOf(cluster, facts), phase: Phase.DESTROYING, ready: false },
    labels: cluster.metadata.labels,
    waiting: `${parts.what} are still to be removed: ${listed(parts.left)}`,
    ...(running.length === 0
      ? {}
      : { action: { type: parts.type, ids: running.map(({ metadata }) => metadata.id) } }),
  };
}

function statusOf(
  cluster: Resource<typeof Cluster>,
  { setStatuses, machines, balancer, configVersion }: ClusterStatusFacts,
) {
  const controlPlanes = machines.filter(({ metadata }) => isControlPlane(metadata.labels));
  const controlPlaneSets = setStatuses.filter(({ metadata }) => isControlPlane(metadata.labels));
  const kubernetesAPIReady = balancer?.spec.healthy ?? false;
  const controlplaneReady = controlPlaneSets.length > 0 &&
    controlPlaneSets.every(({ spec }) => spec.ready);
  const phase = machines.length === 0 ? Phase.SCALING_UP : phaseOf(setStatuses);
  const isEverySetReady = setStatuses.length > 0 && setStatuses.every(({ spec }) => spec.ready);
  return {
    available: kubernetesAPIReady,
    machines: sumOf(setStatuses),
    phase,
    ready: phase === Phase.RUNNING && isEverySetReady && kubernetesAPIReady && controlplaneReady,
    kubernetesAPIReady,
    controlplaneReady,
    hasConnectedControlPlanes: controlPlanes.some(({ metadata }) =>
      LABEL_CONNECTED in metadata.labels
    ),
    useEmbeddedDiscoveryService: cluster.spec.features?.useEmbeddedDiscoveryService ?? false,
    talosVersion: cluster.spec.talosVersion,
    kubernetesVersion: cluster.spec.kubernetesVersion,
    initialTalosVersion: configVersion?.spec.version ?? "",
  };
}

function isControlPlane(labels: Readonly<Record<string, string>>): boolean {
  return LABEL_CONTROL_PLANE_ROLE in labels;
}

function sumOf(setStatuses: readonly Resource<typeof MachineSetStatus>[]) {
  const sum = { total: 0, healthy: 0, connected: 0, requested: 0 };
  for (const { spec: { machines } } of setStatuses) {
    sum.total += machines?.total ?? 0;
    sum.healthy += machines?.healthy ?? 0;
    sum.connected += machines?.connected ?? 0;
    sum.requested += machines?.requested ?? 0;
  }
  return sum;
}

function phaseOf(setStatuses: readonly Resource<typeof MachineSetStatus>[]): Phase {
  const has = (...phases: MachineSetPhase[]): boolean =>
    setStatuses.some(({ spec }) => phases.includes(spec.phase));
  if (has(MachineSetPhase.ScalingDown, MachineSetPhase.Destroying)) return Phase.SCALING_DOWN;
  if (setStatuses.length === 0 || has(MachineSetPhase.ScalingUp)) return Phase.SCALING_UP;
  return Phase.RUNNING;
}
