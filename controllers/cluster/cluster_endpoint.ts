// SPDX-License-Identifier: AGPL-3.0-or-later

/** Lists the tunnel addresses of a cluster's control planes. @module */

import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterEndpoint } from "../../resources/cluster/cluster_endpoint.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { LABEL_CLUSTER, LABEL_CONTROL_PLANE_ROLE } from "../../resources/labels.ts";

/** What the addresses follow from. */
export interface ClusterEndpointFacts {
  readonly controlPlanes: readonly Resource<typeof ClusterMachineStatus>[];
}

/** Creates the controller. */
export function clusterEndpointController(): Controller {
  return defineController({
    name: "cluster.ClusterEndpointController",
    primary: Cluster,
    mapped: [byLabel(ClusterMachineStatus, LABEL_CLUSTER)],
    output: ClusterEndpoint,
    gather: gatherClusterEndpointFacts,
    plan: planClusterEndpoint,
  });
}

async function gatherClusterEndpointFacts(
  { metadata: { id } }: Resource<typeof Cluster>,
  reader: Reader<typeof ClusterMachineStatus>,
): Promise<ClusterEndpointFacts> {
  const labels = { [LABEL_CLUSTER]: id, [LABEL_CONTROL_PLANE_ROLE]: "" };
  return { controlPlanes: await reader.list(ClusterMachineStatus, { labels }) };
}

/** Collects the addresses in the order of the machines' IDs. */
export function planClusterEndpoint(
  _cluster: Resource<typeof Cluster>,
  { controlPlanes }: ClusterEndpointFacts,
): Plan<typeof ClusterEndpoint> {
  const addresses = controlPlanes.map(({ spec }) => spec.managementAddress);
  return {
    kind: "write",
    spec: { managementAddresses: addresses.filter((address) => address !== "") },
  };
}
