// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Gives every cluster the port of its balancer and names the control planes behind it.
 *
 * A port stays with its cluster: it stands in the configuration of every machine.
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
import { ClusterEndpoint } from "../../resources/cluster/cluster_endpoint.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { LoadBalancerConfig } from "../../resources/cluster/load_balancer_config.ts";
import { CLUSTER_MACHINES, listClusterMachines, planRelease } from "./release.ts";

/** Where balancers listen. */
export interface BalancerAddresses {
  /** The server's address in the tunnel. */
  readonly address: string;
  readonly firstPort: number;
  readonly lastPort: number;
}

/** What a balancer depends on besides the cluster. */
export interface LoadBalancerConfigFacts {
  readonly current: Resource<typeof LoadBalancerConfig> | undefined;
  readonly endpoint: Resource<typeof ClusterEndpoint> | undefined;
  readonly takenPorts: ReadonlySet<number>;
  readonly machinesLeft: number;
}

/** The port of the Kubernetes API on a control plane. */
const KUBERNETES_PORT = 6443;

/** Creates the controller; one cluster at a time, so that no port is given twice. */
export function loadBalancerConfigController(addresses: BalancerAddresses): Controller {
  return defineController({
    name: "cluster.LoadBalancerConfigController",
    primary: Cluster,
    mapped: [sameId(ClusterEndpoint), readOnly(LoadBalancerConfig), CLUSTER_MACHINES],
    output: LoadBalancerConfig,
    concurrency: 1,
    plansTeardown: true,
    gather: gatherLoadBalancerConfigFacts,
    plan: (cluster, facts) => planLoadBalancerConfig(cluster, facts, addresses),
  });
}

async function gatherLoadBalancerConfigFacts(
  { metadata: { id } }: Resource<typeof Cluster>,
  reader: Reader<typeof ClusterEndpoint | typeof LoadBalancerConfig | typeof ClusterMachine>,
): Promise<LoadBalancerConfigFacts> {
  const all = await reader.list(LoadBalancerConfig);
  return {
    current: all.find(({ metadata }) => metadata.id === id),
    endpoint: await reader.find(ClusterEndpoint, id),
    takenPorts: new Set(all.map(({ spec }) => Number(spec.bindPort))),
    machinesLeft: (await listClusterMachines(id, reader)).length,
  };
}

/** Keeps the port of the cluster, or takes the lowest free one. */
export function planLoadBalancerConfig(
  cluster: Resource<typeof Cluster>,
  { current, endpoint, takenPorts, machinesLeft }: LoadBalancerConfigFacts,
  { address, firstPort, lastPort }: BalancerAddresses,
): Plan<typeof LoadBalancerConfig> {
  const release = planRelease(cluster, machinesLeft);
  if (release !== undefined) return release;
  const port = current?.spec.bindPort ?? lowestFree(firstPort, lastPort, takenPorts);
  if (port === undefined) {
    return wait(`all ports from ${firstPort} to ${lastPort} are taken`, { retryAfterMs: 30_000 });
  }
  const addresses = endpoint?.spec.managementAddresses ?? [];
  return {
    kind: "write",
    spec: {
      bindPort: String(port),
      siderolinkEndpoint: `https://[${address}]:${port}`,
      endpoints: addresses.map((upstream) => `[${upstream}]:${KUBERNETES_PORT}`),
    },
  };
}

function lowestFree(first: number, last: number, taken: ReadonlySet<number>): number | undefined {
  for (let port = first; port <= last; port++) if (!taken.has(port)) return port;
  return undefined;
}
