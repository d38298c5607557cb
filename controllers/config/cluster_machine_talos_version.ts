// SPDX-License-Identifier: AGPL-3.0-or-later

/** Names the Talos version and the schematic that a machine of a cluster is to run. @module */

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
import { LABEL_CLUSTER } from "../../resources/labels.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { ClusterMachineTalosVersion } from "../../resources/talos/cluster_machine_talos_version.ts";

/** What the version follows from besides the machine. */
export interface TalosVersionFacts {
  readonly cluster: Resource<typeof Cluster> | undefined;
  readonly status: Resource<typeof MachineStatus> | undefined;
}

/** Creates the controller. */
export function clusterMachineTalosVersionController(): Controller {
  return defineController({
    name: "config.ClusterMachineTalosVersionController",
    primary: ClusterMachine,
    mapped: [byPrimaryLabel(Cluster, LABEL_CLUSTER), sameId(MachineStatus)],
    output: ClusterMachineTalosVersion,
    gather: gatherTalosVersionFacts,
    plan: planClusterMachineTalosVersion,
  });
}

async function gatherTalosVersionFacts(
  { metadata: { id, labels } }: Resource<typeof ClusterMachine>,
  reader: Reader<typeof Cluster | typeof MachineStatus>,
): Promise<TalosVersionFacts> {
  return {
    cluster: await reader.find(Cluster, labels[LABEL_CLUSTER] ?? ""),
    status: await reader.find(MachineStatus, id),
  };
}

/** Derives the version from the cluster and the schematic from the machine. */
export function planClusterMachineTalosVersion(
  { metadata: { labels } }: Resource<typeof ClusterMachine>,
  { cluster, status }: TalosVersionFacts,
): Plan<typeof ClusterMachineTalosVersion> {
  if (cluster === undefined) return wait("the cluster does not exist");
  const schematic = status?.spec.schematic;
  if (schematic === undefined) return wait("the machine has not told its extensions yet");
  return {
    kind: "write",
    labels,
    spec: { talosVersion: cluster.spec.talosVersion, schematicId: schematic.fullId },
  };
}
