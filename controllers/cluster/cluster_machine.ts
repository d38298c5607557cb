// SPDX-License-Identifier: AGPL-3.0-or-later

/** Takes a machine into its cluster, as its node of a machine set says. @module */

import {
  byPrimaryLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import {
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MACHINE_SET,
  LABEL_WORKER_ROLE,
} from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import type { TeardownPort } from "./teardown_port.ts";

/** What taking a machine depends on besides its node. */
export interface ClusterMachineFacts {
  readonly cluster: Resource<typeof Cluster> | undefined;
  readonly machineSet: Resource<typeof MachineSet> | undefined;
  readonly machine: Resource<typeof Machine> | undefined;
  readonly current: Resource<typeof ClusterMachine> | undefined;
}

/** Creates the controller; the machine is given back before its node may be destroyed. */
export function clusterMachineController(
  { teardown }: { readonly teardown: TeardownPort },
): Controller {
  return defineController({
    name: "cluster.ClusterMachineController",
    primary: MachineSetNode,
    mapped: [
      byPrimaryLabel(Cluster, LABEL_CLUSTER),
      byPrimaryLabel(MachineSet, LABEL_MACHINE_SET),
      sameId(Machine),
      sameId(ClusterMachine),
    ],
    output: ClusterMachine,
    gather: gatherClusterMachineFacts,
    plan: planClusterMachine,
    // A removal is forced once: the machine may come back into a cluster.
    finalize: ({ metadata: { id } }, { signal }) =>
      teardown.tearDown(NodeForceDestroyRequest, [id], { signal }),
  });
}

async function gatherClusterMachineFacts(
  { metadata: { id, labels } }: Resource<typeof MachineSetNode>,
  reader: Reader<typeof Cluster | typeof MachineSet | typeof Machine | typeof ClusterMachine>,
): Promise<ClusterMachineFacts> {
  return {
    cluster: await reader.find(Cluster, labels[LABEL_CLUSTER] ?? ""),
    machineSet: await reader.find(MachineSet, labels[LABEL_MACHINE_SET] ?? ""),
    machine: await reader.find(Machine, id),
    current: await reader.find(ClusterMachine, id),
  };
}

/** Decides whether the machine belongs to the cluster. */
export function planClusterMachine(
  node: Resource<typeof MachineSetNode>,
  { cluster, machineSet, machine, current }: ClusterMachineFacts,
): Plan<typeof ClusterMachine> {
  const { labels } = node.metadata;
  if (cluster === undefined) return wait(`cluster "${labels[LABEL_CLUSTER] ?? ""}" does not exist`);
  if (machineSet === undefined) {
    return wait(`machine set "${labels[LABEL_MACHINE_SET] ?? ""}" does not exist`);
  }
  if (current === undefined) {
    if (cluster.metadata.phase !== "running") return wait("the cluster is being removed");
    if (machineSet.metadata.phase !== "running") return wait("the machine set is being removed");
    if (machine === undefined) return wait("the machine has not joined");
  }
  const role = LABEL_CONTROL_PLANE_ROLE in machineSet.metadata.labels
    ? LABEL_CONTROL_PLANE_ROLE
    : LABEL_WORKER_ROLE;
  return {
    kind: "write",
    spec: { kubernetesVersion: cluster.spec.kubernetesVersion },
    labels: {
      [LABEL_CLUSTER]: cluster.metadata.id,
      [LABEL_MACHINE_SET]: machineSet.metadata.id,
      [role]: "",
    },
  };
}
