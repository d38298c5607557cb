// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a machine keeps while it has no power.
 *
 * @module
 */

/** What an installer wrote. */
export interface Installation {
  /** For example `/dev/vda`. */
  readonly disk: string;
  readonly image: string;
  /** The Talos that boots from it, with `v`. */
  readonly version: string;
  /** The ID of the image schematic; empty when the image has none. */
  readonly schematic: string;
}

/** The partitions of a system disk that matter here. */
export interface SystemDisk {
  /** Boot assets; absent on an empty disk. */
  installation?: Installation;
  /** The META partition; values written before an installation are in memory only. */
  readonly meta: Map<number, string>;
  /** The STATE partition: the configuration, and one that is staged for the next boot. */
  config?: string;
  stagedConfig?: string;
  /** The EPHEMERAL partition: the identity in etcd's data directory. */
  etcdMemberId?: bigint;
}

/** Labels of partitions that a reset may name. */
export const PARTITION_LABELS = ["EFI", "BIOS", "BOOT", "META", "STATE", "EPHEMERAL"] as const;

/** The label of a partition. */
export type PartitionLabel = typeof PARTITION_LABELS[number];

/** An empty disk. */
export function emptyDisk(): SystemDisk {
  return { meta: new Map() };
}

/** Whether a text is the label of a partition. */
export function isPartitionLabel(text: string): text is PartitionLabel {
  return (PARTITION_LABELS as readonly string[]).includes(text);
}

/** Wipes partitions. */
export function wipePartitions(disk: SystemDisk, labels: Iterable<PartitionLabel>): void {
  for (const label of labels) {
    switch (label) {
      case "EFI":
      case "BIOS":
      case "BOOT":
        delete disk.installation;
        break;
      case "META":
        disk.meta.clear();
        break;
      case "STATE":
        delete disk.config;
        delete disk.stagedConfig;
        break;
      case "EPHEMERAL":
        delete disk.etcdMemberId;
    }
  }
}

/** Reads what an installer image stands for: `host/…installer…[/schematic]:v1.2.3`. */
export function readInstallerImage(
  image: string,
): { readonly version: string; readonly schematic: string } | undefined {
  const match = /^(.+):(v?\d+\.\d+\.\d+[0-9A-Za-z.+-]*)(?:@sha256:[0-9a-f]{64})?$/.exec(image);
  if (match === null) return undefined;
  const [, repository = "", tag = ""] = match;
  const last = repository.split("/").at(-1) ?? "";
  return {
    version: tag.startsWith("v") ? tag : `v${tag}`,
    schematic: /^[0-9a-f]{64}$/.test(last) ? last : "",
  };
}
