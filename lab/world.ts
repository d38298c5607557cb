// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the machines of a fleet share because on real hardware they would talk to each other: the
 * etcd and the Kubernetes nodes of every cluster, by its ID.
 *
 * @module
 */

import { createSignal, type Signal } from "./signal.ts";
import { EtcdCluster } from "./etcd_cluster.ts";
import { NodeTable } from "./node_table.ts";

/** A member of a cluster as discovery tells it to the others. */
export interface Affiliate {
  readonly machineId: string;
  readonly nodeId: string;
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly isControlPlane: boolean;
  readonly operatingSystem: string;
}

/** One emulated cluster. */
export interface ClusterWorld {
  readonly etcd: EtcdCluster;
  readonly nodes: NodeTable;
  /** Machines whose Kubernetes API answers, by machine ID. */
  readonly apiServers: Set<string>;
  /** By machine ID. */
  readonly affiliates: Map<string, Affiliate>;
  /** Fires at every change of etcd, and by hand after a change of the affiliates. */
  readonly changed: Signal;
}

/** All clusters of a fleet. */
export interface World {
  /** The cluster of an ID, made at its first mention. */
  cluster(id: string): ClusterWorld;
  /** Those that were mentioned, by ID. */
  clusters(): ReadonlyMap<string, ClusterWorld>;
}

/** Creates a world without clusters. */
export function createWorld(nowMs: () => number = Date.now): World {
  const clusters = new Map<string, ClusterWorld>();
  return {
    clusters: () => clusters,
    cluster: (id) => {
      const known = clusters.get(id);
      if (known !== undefined) return known;
      const changed = createSignal();
      const nodes = new NodeTable(nowMs);
      const etcd: EtcdCluster = new EtcdCluster({
        changed: () => {
          // The nodes are etcd's data.
          if (!etcd.isBootstrapped()) nodes.clear();
          changed.fire();
        },
      });
      const made: ClusterWorld = {
        etcd,
        nodes,
        apiServers: new Set(),
        affiliates: new Map(),
        changed,
      };
      clusters.set(id, made);
      return made;
    },
  };
}
