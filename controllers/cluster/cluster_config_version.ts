// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Pins the version contract of a cluster to the Talos version that it was created with.
 *
 * Another contract would change generated defaults, and with them reboot running machines.
 *
 * @module
 */

import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  readOnly,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ANNOTATION_TALOS_VERSION } from "../../resources/labels.ts";
import { TalosVersion } from "../../resources/talos/talos_version.ts";
import { formatContract, parseContract } from "../../talos/config/contract.ts";
import { CLUSTER_MACHINES, listClusterMachines, planRelease } from "./release.ts";

/** What the contract depends on besides the cluster. */
export interface ConfigVersionFacts {
  readonly offered: Resource<typeof TalosVersion> | undefined;
  readonly current: Resource<typeof ClusterConfigVersion> | undefined;
  readonly machinesLeft: number;
}

/** Creates the controller. */
export function clusterConfigVersionController(): Controller {
  return defineController({
    name: "cluster.ClusterConfigVersionController",
    primary: Cluster,
    mapped: [readOnly(TalosVersion), sameId(ClusterConfigVersion), CLUSTER_MACHINES],
    output: ClusterConfigVersion,
    plansTeardown: true,
    gather: gatherConfigVersionFacts,
    plan: planClusterConfigVersion,
  });
}

async function gatherConfigVersionFacts(
  { metadata: { id }, spec }: Resource<typeof Cluster>,
  reader: Reader<typeof TalosVersion | typeof ClusterConfigVersion | typeof ClusterMachine>,
): Promise<ConfigVersionFacts> {
  return {
    offered: await reader.find(TalosVersion, spec.talosVersion),
    current: await reader.find(ClusterConfigVersion, id),
    machinesLeft: (await listClusterMachines(id, reader)).length,
  };
}

/** Derives the contract once; afterwards it stays. */
export function planClusterConfigVersion(
  cluster: Resource<typeof Cluster>,
  { offered, current, machinesLeft }: ConfigVersionFacts,
): Plan<typeof ClusterConfigVersion> {
  const release = planRelease(cluster, machinesLeft);
  if (release !== undefined) return release;
  if (current !== undefined) return { kind: "write", spec: current.spec };
  if (offered === undefined) {
    return wait(`Talos version "${cluster.spec.talosVersion}" is not offered`);
  }
  const version = offered.metadata.annotations[ANNOTATION_TALOS_VERSION] ?? offered.spec.version;
  return { kind: "write", spec: { version: formatContract(parseContract(version)) } };
}
