// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the machines of a fleet share because on real hardware they would talk to each other: the
 * etcd and the Kubernetes nodes of every cluster, by its ID.
 *
 * @module
 */

import { issueMachineServerCertificate } from "../talos/config/certificates.ts";
import { CA_LIFETIME_MS, type CertificateAndKey, createCa } from "../talos/config/pki.ts";
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
  /**
   * What machines in maintenance answer with. It proves nothing, so that one will do for all, and
   * making one for each is most of the work of starting many machines.
   */
  maintenanceCertificate(): Promise<CertificateAndKey>;
}

/** Creates a world without clusters. */
export function createWorld(nowMs: () => number = Date.now): World {
  const clusters = new Map<string, ClusterWorld>();
  let certificate: Promise<CertificateAndKey> | undefined;
  return {
    clusters: () => clusters,
    maintenanceCertificate: () => certificate ??= selfSigned(nowMs()),
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

/** A certificate that is signed by an authority that nobody knows. */
async function selfSigned(nowMs: number): Promise<CertificateAndKey> {
  const authority = await createCa({ kind: "ed25519", nowMs, organization: "talos" });
  return await issueMachineServerCertificate(authority, {
    nowMs,
    lifetimeMs: CA_LIFETIME_MS,
    dnsNames: ["maintenance-service.talos.dev"],
  });
}
