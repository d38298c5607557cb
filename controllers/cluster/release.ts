// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a cluster owns outlives its machines: they cannot be reset without its credentials.
 *
 * @module
 */

import { byLabel, type Destroy, type Reader, type Wait, wait } from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import type { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { LABEL_CLUSTER } from "../../resources/labels.ts";

/** The input by which a cluster's own resources know of its machines. */
export const CLUSTER_MACHINES = byLabel(ClusterMachine, LABEL_CLUSTER);

/** The machines that are still in a cluster. */
export function listClusterMachines(
  cluster: string,
  reader: Reader<typeof ClusterMachine>,
): Promise<readonly Resource<typeof ClusterMachine>[]> {
  return reader.list(ClusterMachine, { labels: { [LABEL_CLUSTER]: cluster } });
}

/** What to do for a cluster that is being removed; `undefined` for one that is not. */
export function planRelease(
  cluster: Resource<typeof Cluster>,
  machinesLeft: number,
): Wait | Destroy | undefined {
  if (cluster.metadata.phase === "running") return undefined;
  return machinesLeft > 0
    ? wait(`${machinesLeft} machines are still to be given back`)
    : { kind: "destroy", reason: "the cluster has no machines left" };
}
