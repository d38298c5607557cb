// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The resources that describe a machine and do not change while it runs.
 *
 * @module
 */

import { create } from "@bufbuild/protobuf";
import { RuntimeSELinuxState as SeLinux } from "../proto/gen/talos/resource/enums_pb.ts";
import { DiskSpecSchema } from "../proto/gen/talos/resource/block_pb.ts";
import { LayerSchema } from "../proto/gen/talos/resource/extensions_pb.ts";
import {
  MemoryModuleSpecSchema,
  ProcessorSpecSchema,
  SystemInformationSpecSchema,
} from "../proto/gen/talos/resource/hardware_pb.ts";
import {
  BootIDSpecSchema,
  KernelCmdlineSpecSchema,
  PlatformMetadataSpecSchema,
  SecurityStateSpecSchema,
  VersionSpecSchema,
} from "../proto/gen/talos/resource/runtime_pb.ts";
import { isRecentTalos } from "./versions.ts";
import { publishSystemDisk } from "./volumes.ts";
import { RESOURCE_DEFINITION, resourceDefinitions } from "./kinds.ts";
import type { Boot } from "./boot.ts";
import { META_UNIQUE_TOKEN, META_UUID_OVERRIDE, publishMeta } from "./status.ts";

/** Memory modules are of at most this size. */
const MODULE_MIB = 4096;

/** Writes the description of a machine into its resources. */
export function publishInventory(boot: Boot): void {
  publishHardware(boot);
  publishDisks(boot);
  publishSystem(boot);
  publishExtensions(boot);
  boot.resources.adopt("meta", RESOURCE_DEFINITION, resourceDefinitions(boot.version));
  for (const key of new Set([META_UNIQUE_TOKEN, ...boot.meta.keys()])) publishMeta(boot, key);
}

/** The UUID that a machine goes by: its hardware's, or the one that META puts in its place. */
export function effectiveUuid({ core, meta }: Boot): string {
  return meta.get(META_UUID_OVERRIDE) ?? core.hardware.uuid;
}

function publishHardware(boot: Boot): void {
  const { hardware } = boot.core;
  boot.resources.put(
    "SystemInformations.hardware.talos.dev",
    "systeminformation",
    SystemInformationSpecSchema,
    create(SystemInformationSpecSchema, {
      manufacturer: hardware.manufacturer,
      productName: hardware.productName,
      version: "1.0",
      serialNumber: hardware.serialNumber,
      uuid: effectiveUuid(boot),
      wakeUpType: "Power Switch",
    }),
  );
  boot.resources.put(
    "Processors.hardware.talos.dev",
    "CPU-0",
    ProcessorSpecSchema,
    create(ProcessorSpecSchema, {
      socket: "CPU 0",
      manufacturer: hardware.manufacturer,
      productName: "Lab processor",
      maxSpeed: 2600,
      bootSpeed: 2600,
      // Populated and enabled, as SMBIOS writes it.
      status: 65,
      coreCount: hardware.cores,
      coreEnabled: hardware.cores,
      threadCount: hardware.cores,
    }),
  );
  for (let index = 0, left = hardware.memoryMib; left > 0; index++, left -= MODULE_MIB) {
    boot.resources.put(
      "MemoryModules.hardware.talos.dev",
      `DIMM-${index}`,
      MemoryModuleSpecSchema,
      create(MemoryModuleSpecSchema, {
        size: Math.min(left, MODULE_MIB),
        deviceLocator: `DIMM ${index}`,
        speed: 3200,
        manufacturer: hardware.manufacturer,
      }),
    );
  }
}

function publishDisks(boot: Boot): void {
  for (const disk of boot.core.hardware.disks) {
    boot.resources.put(
      "Disks.block.talos.dev",
      disk.name,
      DiskSpecSchema,
      create(DiskSpecSchema, {
        size: BigInt(disk.sizeBytes),
        ioSize: 512n,
        sectorSize: 512n,
        readonly: disk.readonly ?? false,
        transport: disk.transport,
        rotational: false,
        devPath: `/dev/${disk.name}`,
        prettySize: `${Math.round(disk.sizeBytes / 1e9)} GB`,
        busPath: "/pci0000:00/0000:00:05.0/virtio2/",
        subSystem: "/sys/class/block",
      }),
    );
  }
  publishSystemDisk(boot);
}

function publishSystem(boot: Boot): void {
  const { core, resources } = boot;
  resources.put(
    "Versions.runtime.talos.dev",
    "version",
    VersionSpecSchema,
    create(VersionSpecSchema, { version: boot.version, name: "Talos" }),
  );
  resources.put(
    "KernelCmdlines.runtime.talos.dev",
    "cmdline",
    KernelCmdlineSpecSchema,
    create(KernelCmdlineSpecSchema, { cmdline: kernelCmdline(boot) }),
  );
  resources.put(
    "PlatformMetadatas.talos.dev",
    "platformmetadata",
    PlatformMetadataSpecSchema,
    create(PlatformMetadataSpecSchema, { platform: "metal" }),
  );
  resources.put(
    "SecurityStates.talos.dev",
    "securitystate",
    SecurityStateSpecSchema,
    create(SecurityStateSpecSchema, { seLinuxState: SeLinux.SE_LINUX_STATE_PERMISSIVE }),
  );
  if (isRecentTalos(boot.version)) {
    resources.put(
      "BootIDs.runtime.talos.dev",
      "boot-id",
      BootIDSpecSchema,
      create(BootIDSpecSchema, { bootId: boot.id }),
    );
  }
  core.changed.fire();
}

/** The kernel command line as the machine shows it. */
export function kernelCmdline({ core }: Boot): string {
  return `talos.platform=metal console=ttyS0 ${core.kernelArgs}`;
}

function publishExtensions(boot: Boot): void {
  const layers = boot.core.extensions.map((extension) => {
    const [name = "", version = ""] = extension.split(":");
    return { name, version, extraInfo: "" };
  });
  // The image factory adds a virtual extension that carries the ID of the schematic.
  if (boot.schematic !== "") {
    layers.push({ name: "schematic", version: boot.schematic, extraInfo: "" });
  }
  for (const [index, metadata] of layers.entries()) {
    boot.resources.put(
      "ExtensionStatuses.runtime.talos.dev",
      String(index),
      LayerSchema,
      create(LayerSchema, { image: `${index}.${metadata.name}.sqsh`, metadata }),
    );
  }
}
