// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How a machine goes down in an orderly way: reboot, shutdown, reset.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import {
  type ResetRequest,
  ResetRequest_WipeMode as WipeMode,
} from "../proto/gen/talos/machine_pb.ts";
import { type Boot, type BootEnd, clusterIdOf, endBoot, inPhase, inSequence } from "./boot.ts";
import type { MachineStage } from "./boot.ts";
import { isPartitionLabel, PARTITION_LABELS, type PartitionLabel, wipePartitions } from "./disk.ts";
import { leaveEtcd } from "./etcd_member.ts";
import { setStage } from "./status.ts";

/** An orderly end. */
interface Departure {
  readonly sequence: string;
  readonly stage: MachineStage;
  readonly how: BootEnd;
  /** What is done before the services stop. */
  readonly prepare?: () => Promise<void>;
}

/** Restarts the machine. */
export function requestReboot(boot: Boot): void {
  depart(boot, { sequence: "reboot", stage: "rebooting", how: "reboot" });
}

/** Turns the machine off. */
export function requestShutdown(boot: Boot): void {
  depart(boot, { sequence: "shutdown", stage: "shutting down", how: "off" });
}

/** Restarts the machine after its system was replaced. */
export function requestUpgradeReboot(boot: Boot): void {
  depart(boot, { sequence: "upgrade", stage: "upgrading", how: "reboot" });
}

/**
 * Wipes what is asked for and goes down.
 *
 * @throws CodedError when the request does not fit the machine; then nothing happens.
 */
export function requestReset(boot: Boot, request: ResetRequest): void {
  const labels = checkReset(boot, request);
  const isEtcdMember = boot.core.disk.etcdMemberId !== undefined;
  depart(boot, {
    sequence: "reset",
    stage: "resetting",
    how: request.reboot ? "reboot" : "off",
    prepare: async () => {
      await inPhase(boot, "cleanup", boot.core.pace.applyMs);
      if (request.graceful && isEtcdMember) leaveEtcd(boot);
      wipe(boot, labels);
    },
  });
}

/** The partitions that a reset is to wipe. */
function checkReset(boot: Boot, request: ResetRequest): PartitionLabel[] {
  const { systemPartitionsToWipe, userDisksToWipe, mode } = request;
  checkReady(boot);
  if (boot.core.disk.installation === undefined) {
    throw new CodedError("failedPrecondition", "reset needs a system disk: Talos is not installed");
  }
  if (mode === WipeMode.USER_DISKS && systemPartitionsToWipe.length > 0) {
    throw new CodedError(
      "invalidArgument",
      "reset failed: invalid input, wipe mode USER_DISKS excludes system_partitions_to_wipe",
    );
  }
  if (mode === WipeMode.SYSTEM_DISK && userDisksToWipe.length > 0) {
    throw new CodedError(
      "invalidArgument",
      "reset failed: invalid input, wipe mode SYSTEM_DISK excludes user_disks_to_wipe",
    );
  }
  const disks = new Set(boot.core.hardware.disks.map(({ name }) => `/dev/${name}`));
  for (const disk of userDisksToWipe) {
    if (!disks.has(disk)) throw new CodedError("invalidArgument", `disk "${disk}" does not exist`);
  }
  for (const { label } of systemPartitionsToWipe) {
    if (!isPartitionLabel(label)) {
      throw new CodedError("notFound", `failed to get volume status with label "${label}"`);
    }
  }
  if (mode === WipeMode.USER_DISKS) return [];
  if (systemPartitionsToWipe.length === 0) return [...PARTITION_LABELS];
  return systemPartitionsToWipe.filter(({ wipe }) => wipe).map(({ label }) => label)
    .filter(isPartitionLabel);
}

function wipe(boot: Boot, labels: readonly PartitionLabel[]): void {
  const { disk, world } = boot.core;
  const clusterId = clusterIdOf(boot);
  const { etcdMemberId } = disk;
  wipePartitions(disk, labels);
  const isGone = etcdMemberId !== undefined && disk.etcdMemberId === undefined;
  if (isGone && clusterId !== undefined) world.cluster(clusterId).etcd.lose(etcdMemberId);
}

/** Refuses a second operation while one that ends in darkness runs. */
export function checkReady(boot: Boot): void {
  if (boot.busyWith !== undefined) {
    throw new CodedError(
      "failedPrecondition",
      `another operation is in progress: ${boot.busyWith}`,
    );
  }
}

function depart(boot: Boot, { sequence, stage, how, prepare }: Departure): void {
  checkReady(boot);
  boot.busyWith = sequence;
  setStage(boot, stage);
  const run = inSequence(boot, sequence, async () => {
    await prepare?.();
    await inPhase(boot, "stopEverything", boot.core.pace.stopMs);
  });
  // A sequence that fails ends in a reboot; one that lost its power ends in nothing.
  run.then(() => endBoot(boot, how), () => endBoot(boot, "reboot"));
}
