// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The resources that describe the system disk and its partitions.
 *
 * @module
 */

import { create } from "@bufbuild/protobuf";
import {
  SystemDiskSpecSchema,
  VolumeStatusSpecSchema,
} from "../proto/gen/talos/resource/block_pb.ts";
import {
  BlockFilesystemType as Filesystem,
  BlockVolumePhase as Phase,
  BlockVolumeType as VolumeType,
} from "../proto/gen/talos/resource/enums_pb.ts";
import type { Boot } from "./boot.ts";
import { PARTITION_LABELS, type PartitionLabel } from "./disk.ts";

/** Sizes of partitions in bytes; EPHEMERAL takes the rest of the disk. */
const SIZES: Readonly<Partial<Record<PartitionLabel, bigint>>> = {
  EFI: 2_202_009_600n,
  BIOS: 1_048_576n,
  BOOT: 1_048_576_000n,
  META: 1_048_576n,
  STATE: 104_857_600n,
};

const FILESYSTEMS: Readonly<Partial<Record<PartitionLabel, Filesystem>>> = {
  EFI: Filesystem.FILESYSTEM_TYPE_VFAT,
  BOOT: Filesystem.FILESYSTEM_TYPE_XFS,
  STATE: Filesystem.FILESYSTEM_TYPE_XFS,
  EPHEMERAL: Filesystem.FILESYSTEM_TYPE_XFS,
};

/** Partitions that a machine looks for even where Talos is not installed. */
const EXPECTED: readonly PartitionLabel[] = ["META", "STATE", "EPHEMERAL"];

/** Tells from which disk a machine runs, and what has become of its partitions. */
export function publishSystemDisk(boot: Boot): void {
  const { installation } = boot.core.disk;
  if (installation === undefined) {
    boot.resources.remove("SystemDisks.block.talos.dev", "system-disk");
  } else {
    boot.resources.put(
      "SystemDisks.block.talos.dev",
      "system-disk",
      SystemDiskSpecSchema,
      create(SystemDiskSpecSchema, {
        diskId: installation.disk.replace("/dev/", ""),
        devPath: installation.disk,
      }),
    );
  }
  for (const [index, label] of PARTITION_LABELS.entries()) {
    publishVolume(boot, label, installation && `${installation.disk}${index + 1}`);
  }
}

function publishVolume(boot: Boot, label: PartitionLabel, location: string | undefined): void {
  const type = "VolumeStatuses.block.talos.dev";
  if (location === undefined && !EXPECTED.includes(label)) {
    return boot.resources.remove(type, label);
  }
  boot.resources.put(
    type,
    label,
    VolumeStatusSpecSchema,
    create(VolumeStatusSpecSchema, {
      type: VolumeType.VOLUME_TYPE_PARTITION,
      ...(location === undefined ? { phase: Phase.VOLUME_PHASE_MISSING } : {
        phase: Phase.VOLUME_PHASE_READY,
        location,
        parentLocation: location.replace(/\d+$/, ""),
        filesystem: FILESYSTEMS[label] ?? Filesystem.FILESYSTEM_TYPE_NONE,
        size: SIZES[label] ?? ephemeralSize(boot),
      }),
    }),
  );
}

function ephemeralSize({ core }: Boot): bigint {
  const disk = core.hardware.disks.find(({ name }) =>
    core.disk.installation?.disk === `/dev/${name}`
  );
  const taken = Object.values(SIZES).reduce((sum, size) => sum + size, 0n);
  return BigInt(disk?.sizeBytes ?? 0) - taken;
}
