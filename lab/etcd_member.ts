// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The etcd service of a control plane: waits for a bootstrap, joins, runs, leaves.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { type Boot, clusterIdOf, isControlPlane } from "./boot.ts";
import type { EtcdApplicant, EtcdStatus } from "./etcd_cluster.ts";
import { publishEtcdMember } from "./network.ts";
import { setService } from "./status.ts";
import type { ClusterWorld } from "./world.ts";

/** Runs etcd until the power goes or the member leaves. */
export async function runEtcd(boot: Boot, cluster: ClusterWorld): Promise<void> {
  const { core, signal } = boot;
  const { etcd } = cluster;
  setService(boot, "etcd", "Preparing", "Running pre state");
  let id = core.disk.etcdMemberId;
  if (id === undefined) {
    // Either this machine is told to begin, or others of its cluster have begun.
    await cluster.changed.until(
      () => core.disk.etcdMemberId !== undefined || etcd.isBootstrapped() && etcd.hasQuorum(),
      signal,
    );
    await core.clock.sleep(core.pace.serviceMs, signal);
    signal.throwIfAborted();
    id = core.disk.etcdMemberId ?? await joinEtcd(boot, cluster);
  }
  core.disk.etcdMemberId = id;
  if (!etcd.start(id)) {
    return setService(boot, "etcd", "Failed", "the member has been permanently removed");
  }
  try {
    publishEtcdMember(boot, id);
    setService(boot, "etcd", "Running", "Health check successful");
    await cluster.changed.until(() => !etcd.isRunning(id), signal);
    const hasLeft = core.disk.etcdMemberId === undefined;
    publishEtcdMember(boot, undefined);
    if (hasLeft) setService(boot, "etcd", "Finished", "Service finished successfully");
    else setService(boot, "etcd", "Failed", "the member has been permanently removed");
  } finally {
    etcd.stop(id);
  }
}

async function joinEtcd(boot: Boot, { etcd }: ClusterWorld): Promise<bigint> {
  const { id } = etcd.join(applicantOf(boot));
  await boot.core.clock.sleep(boot.core.pace.serviceMs, boot.signal);
  etcd.promote(id);
  return id;
}

/** How a machine introduces itself to etcd. */
function applicantOf({ core, hostname }: Boot): EtcdApplicant {
  const { address, uuid } = core.hardware;
  return {
    machineId: uuid,
    hostname,
    peerUrl: `https://${address}:2380`,
    clientUrl: `https://${address}:2379`,
  };
}

/**
 * Begins a new etcd on this machine.
 *
 * @throws CodedError `failedPrecondition`, `invalidArgument`, or `alreadyExists` when there is data.
 */
export function bootstrapEtcd(boot: Boot): void {
  const { core } = boot;
  const facts = boot.config?.isComplete === true ? boot.config.facts : undefined;
  if (facts === undefined) {
    throw new CodedError("failedPrecondition", "machine is not configured");
  }
  if (facts.machineType === "worker") {
    throw new CodedError(
      "invalidArgument",
      "bootstrap can only be performed on a control plane node",
    );
  }
  if (facts.etcdCa === undefined) {
    throw new CodedError("invalidArgument", "etcd CA is missing from the configuration");
  }
  if (core.disk.etcdMemberId !== undefined) {
    throw new CodedError("alreadyExists", "etcd data directory is not empty");
  }
  if (boot.services.get("etcd")?.state !== "Preparing") {
    throw new CodedError("failedPrecondition", "etcd service is not ready to be bootstrapped");
  }
  const cluster = core.world.cluster(facts.clusterId ?? "");
  core.disk.etcdMemberId = cluster.etcd.bootstrap(applicantOf(boot)).id;
  cluster.changed.fire();
}

/** The cluster and the machine's own running membership in its etcd. */
export function ownEtcd(boot: Boot): { readonly cluster: ClusterWorld; readonly id: bigint } {
  const clusterId = clusterIdOf(boot);
  if (clusterId === undefined || !isControlPlane(boot)) {
    throw new CodedError("failedPrecondition", "this call is for control plane nodes");
  }
  const cluster = boot.core.world.cluster(clusterId);
  const id = boot.core.disk.etcdMemberId;
  if (id === undefined || !cluster.etcd.isRunning(id)) {
    throw new CodedError("unavailable", "etcd is not running on this node");
  }
  return { cluster, id };
}

/** Takes this machine's member out of etcd and drops its data. */
export function leaveEtcd(boot: Boot): void {
  const { cluster, id } = ownEtcd(boot);
  cluster.etcd.forfeit(id);
  delete boot.core.disk.etcdMemberId;
  try {
    cluster.etcd.remove(id);
  } catch (error) {
    boot.core.disk.etcdMemberId = id;
    throw error;
  }
}

/** The status of this machine's member. */
export function etcdStatus(boot: Boot): EtcdStatus {
  const { cluster, id } = ownEtcd(boot);
  return cluster.etcd.status(id);
}
