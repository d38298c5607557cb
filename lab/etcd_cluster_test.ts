// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf, type ErrorCode } from "../base/errors.ts";
import { type EtcdApplicant, EtcdCluster } from "./etcd_cluster.ts";

function failsWith(code: ErrorCode): (error: unknown) => boolean {
  return (error) => codeOf(error) === code;
}

const applicant = (name: string): EtcdApplicant => ({
  machineId: name,
  hostname: name,
  peerUrl: `https://${name}:2380`,
  clientUrl: `https://${name}:2379`,
});

/** A cluster of running voters, the first one the leader. */
function clusterOf(count: number): { etcd: EtcdCluster; ids: bigint[] } {
  let next = 1n;
  const etcd = new EtcdCluster({ changed: () => {}, randomId: () => next++ });
  const ids = [etcd.bootstrap(applicant("m1")).id];
  for (let index = 2; index <= count; index++) {
    const { id } = etcd.join(applicant(`m${index}`));
    etcd.promote(id);
    ids.push(id);
  }
  return { etcd, ids };
}

Deno.test("EtcdCluster is bootstrapped once", () => {
  const { etcd } = clusterOf(1);
  assert.throws(() => etcd.bootstrap(applicant("m2")), failsWith("alreadyExists"));
});

Deno.test("EtcdCluster.join() adds a learner that does not vote", () => {
  const { etcd, ids: [first = 0n] } = clusterOf(1);
  const { id } = etcd.join(applicant("m2"));
  assert.deepEqual(etcd.list().map(({ isLearner }) => isLearner), [false, true]);
  etcd.stop(id);
  assert.equal(etcd.hasQuorum(), true);
  assert.equal(etcd.status(first).leader, first);
});

Deno.test("EtcdCluster without a majority refuses changes and has no leader", () => {
  const { etcd, ids: [first = 0n, second = 0n, third = 0n] } = clusterOf(3);
  etcd.stop(first);
  assert.equal(etcd.status(second).leader, second);
  etcd.stop(second);
  assert.equal(etcd.hasQuorum(), false);
  assert.equal(etcd.status(third).leader, 0n);
  assert.throws(() => etcd.list(), failsWith("unavailable"));
  assert.throws(() => etcd.join(applicant("m4")), failsWith("unavailable"));
  assert.throws(() => etcd.remove(first), failsWith("unavailable"));
  assert.equal(etcd.start(second), true);
  assert.equal(etcd.list().length, 3);
});

Deno.test("EtcdCluster.remove() refuses to leave a cluster without a majority", () => {
  const { etcd, ids: [first = 0n, second = 0n, third = 0n] } = clusterOf(3);
  etcd.stop(third);
  assert.throws(() => etcd.remove(second), failsWith("failedPrecondition"));
  etcd.remove(third);
  etcd.remove(second);
  assert.throws(() => etcd.remove(first), failsWith("failedPrecondition"));
  assert.throws(() => etcd.remove(third), failsWith("notFound"));
  assert.equal(etcd.start(third), false);
});

Deno.test("EtcdCluster.forfeit() hands leadership to a running voter", () => {
  const { etcd, ids: [first = 0n, second = 0n] } = clusterOf(2);
  assert.equal(etcd.forfeit(second), undefined);
  assert.equal(etcd.forfeit(first), "m2");
  assert.equal(etcd.status(first).leader, second);
});

Deno.test("EtcdCluster.lose() ends the cluster with its last data", () => {
  const { etcd, ids: [first = 0n, second = 0n] } = clusterOf(2);
  etcd.lose(first);
  assert.equal(etcd.isBootstrapped(), true);
  etcd.lose(second);
  assert.equal(etcd.isBootstrapped(), false);
  etcd.bootstrap(applicant("m3"));
});
