// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the machines of a fleet share because on real hardware they would talk to each other: the
 * etcd and the Kubernetes nodes of every cluster, by its ID.
 *
 * @module
 */

import { EtcdCluster } from "./etcd_cluster.ts";
import { NodeTable } from "./node_table.ts";
import type { EncodedSpec } from "./resource_store.ts";
import { createSignal, type Signal } from "./signal.ts";

/** One emulated cluster. */
export interface ClusterWorld {
  readonly etcd: EtcdCluster;
  readonly nodes: NodeTable;
  /** Machines whose Kubernetes API answers, by machine ID. */
  readonly apiServers: Set<string>;
  /** What discovery tells of each member, by host name; encoded once, for every member shows all. */
  readonly members: Map<string, EncodedSpec>;
  /** Fires by hand after a change of the members. */
  readonly membersChanged: Signal;
  /** Fires at every change of etcd. */
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
        members: new Map(),
        membersChanged: createSignal(),
        changed,
      };
      clusters.set(id, made);
      return made;
    },
  };
}
