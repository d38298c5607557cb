// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a machine is made of, from the copies of its own resources.
 *
 * @module
 */

import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import { redactParameters } from "../../base/redact.ts";
import type { Resource, ResourceType, SpecOf } from "../../cosi/resource.ts";
import type { NetIPPrefix } from "../../proto/gen/talos/common_pb.ts";
import type { MachineStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import {
  NethelpersLinkType,
  NethelpersOperationalState,
} from "../../proto/gen/talos/resource/enums_pb.ts";
import type { TalosAddressStatus } from "../../resources/mirror/address_status.ts";
import type { TalosDiagnostic } from "../../resources/mirror/diagnostic.ts";
import type { TalosDisk } from "../../resources/mirror/disk.ts";
import type { TalosExtensionStatus } from "../../resources/mirror/extension_status.ts";
import type { TalosHostnameStatus } from "../../resources/mirror/hostname_status.ts";
import type { TalosKernelCmdline } from "../../resources/mirror/kernel_cmdline.ts";
import type { TalosLinkStatus } from "../../resources/mirror/link_status.ts";
import type { TalosMemoryModule } from "../../resources/mirror/memory_module.ts";
import type { TalosPlatformMetadata } from "../../resources/mirror/platform_metadata.ts";
import type { TalosProcessor } from "../../resources/mirror/processor.ts";
import type { TalosRouteStatus } from "../../resources/mirror/route_status.ts";
import type { TalosSecurityState } from "../../resources/mirror/security_state.ts";
import type { TalosSystemDisk } from "../../resources/mirror/system_disk.ts";
import type { TalosVersion } from "../../resources/mirror/version.ts";

type Copies<T extends ResourceType> = readonly Resource<T>[];

/** The copies of one machine's resources, each kind as it stands. */
export interface MachineCopies {
  readonly addresses: Copies<typeof TalosAddressStatus>;
  readonly diagnostics: Copies<typeof TalosDiagnostic>;
  readonly disks: Copies<typeof TalosDisk>;
  readonly extensions: Copies<typeof TalosExtensionStatus>;
  readonly hostnames: Copies<typeof TalosHostnameStatus>;
  readonly kernelCmdlines: Copies<typeof TalosKernelCmdline>;
  readonly links: Copies<typeof TalosLinkStatus>;
  readonly memoryModules: Copies<typeof TalosMemoryModule>;
  readonly platformMetadatas: Copies<typeof TalosPlatformMetadata>;
  readonly processors: Copies<typeof TalosProcessor>;
  readonly routes: Copies<typeof TalosRouteStatus>;
  readonly securityStates: Copies<typeof TalosSecurityState>;
  readonly systemDisks: Copies<typeof TalosSystemDisk>;
  readonly versions: Copies<typeof TalosVersion>;
}

/** Fields alone: a whole message could not be spread into one with other fields. */
type StatusInit = Exclude<MessageInitShape<typeof MachineStatusSpecSchema>, Message>;

/** The parts of a MachineStatus that describe the machine itself. */
export function inventoryOf(copies: MachineCopies): StatusInit {
  const version = copies.versions[0]?.spec;
  return {
    talosVersion: version?.version ?? "",
    talosVersionName: version?.name ?? "",
    hardware: hardwareOf(copies),
    network: networkOf(copies),
    diagnostics: copies.diagnostics.map(({ metadata, spec }) => ({
      id: localId(metadata.id),
      message: spec.message,
      details: spec.details,
    })),
    ...platformOf(copies),
    ...schematicOf(copies),
  };
}

/** The ID that a copied resource has on its machine. */
export function localId(copyId: string): string {
  return copyId.slice(copyId.indexOf("/") + 1);
}

function hardwareOf({ processors, memoryModules, disks, systemDisks }: MachineCopies) {
  const systemDisk = systemDisks[0]?.spec.devPath;
  return {
    processors: processors.filter(({ spec }) => spec.coreCount > 0).map(({ spec }) => ({
      coreCount: spec.coreCount,
      threadCount: spec.threadCount,
      frequency: spec.maxSpeed,
      description: spec.productName,
      manufacturer: spec.manufacturer,
    })),
    memoryModules: memoryModules.filter(({ spec }) => spec.size > 0).map(({ spec }) => ({
      sizeMb: spec.size,
      description: `${spec.manufacturer} ${spec.productName}`.trim(),
    })),
    blockdevices: disks.map(({ metadata, spec }) => blockDevice(metadata.id, spec, systemDisk)),
  };
}

function blockDevice(copyId: string, disk: SpecOf<typeof TalosDisk>, systemDisk?: string) {
  return {
    size: disk.size,
    model: disk.model,
    linuxName: disk.devPath,
    name: localId(copyId),
    serial: disk.serial,
    uuid: disk.uuid,
    wwid: disk.wwid,
    type: diskType(disk),
    busPath: disk.busPath,
    systemDisk: systemDisk !== undefined && disk.devPath === systemDisk,
    readonly: disk.readonly,
    transport: disk.transport,
    devPath: disk.devPath,
    ioSize: disk.ioSize,
    sectorSize: disk.sectorSize,
    modalias: disk.modalias,
    subSystem: disk.subSystem,
    rotational: disk.rotational,
    cdrom: disk.cdrom,
    prettySize: disk.prettySize,
    secondaryDisks: disk.secondaryDisks,
    symlinks: disk.symlinks,
    firmwareVersion: disk.firmwareVersion,
  };
}

function diskType(disk: SpecOf<typeof TalosDisk>): string {
  if (disk.cdrom) return "CD";
  if (disk.transport === "nvme") return "NVME";
  return disk.rotational ? "HDD" : "SSD";
}

function networkOf({ hostnames, addresses, routes, links }: MachineCopies) {
  const gateways = routes.filter(({ spec }) => isDefaultRoute(spec.destination))
    .map(({ spec }) => formatIp(spec.gateway?.ip ?? new Uint8Array()));
  return {
    hostname: hostnames[0]?.spec.hostname ?? "",
    domainname: hostnames[0]?.spec.domainname ?? "",
    addresses: addresses.map(({ spec }) => formatPrefix(spec.address)).filter(isPresent),
    defaultGateways: [...new Set(gateways)].filter(isPresent),
    networkLinks: links.filter(({ spec }) => isPhysical(spec)).map(({ metadata, spec }) => ({
      linuxName: localId(metadata.id),
      hardwareAddress: formatMac(spec.hardwareAddr),
      speedMbps: spec.speedMegabits > 0n && spec.speedMegabits < 0xffff_ffffn
        ? Number(spec.speedMegabits)
        : 0,
      linkUp: spec.operationalState === NethelpersOperationalState.OPER_STATE_UP ||
        spec.linkState,
      description: `${spec.vendor} ${spec.product}`.trim(),
    })),
  };
}

/** Whether a link is a network card: an Ethernet link that nothing made in software. */
export function isPhysical(link: SpecOf<typeof TalosLinkStatus>): boolean {
  return link.type === NethelpersLinkType.LINK_ETHER && link.kind === "";
}

function isDefaultRoute(destination: NetIPPrefix | undefined): boolean {
  return destination === undefined || destination.prefixLength === 0;
}

function isPresent(text: string): boolean {
  return text !== "";
}

function platformOf({ platformMetadatas, securityStates, kernelCmdlines }: MachineCopies) {
  const platform = platformMetadatas[0]?.spec;
  const security = securityStates[0]?.spec;
  return {
    ...(platform === undefined ? {} : {
      platformMetadata: {
        platform: platform.platform,
        hostname: platform.hostname,
        region: platform.region,
        zone: platform.zone,
        instanceType: platform.instanceType,
        instanceId: platform.instanceId,
        providerId: platform.providerId,
        spot: platform.spot,
        tags: platform.tags,
      },
    }),
    ...(security === undefined ? {} : {
      securityState: {
        secureBoot: security.secureBoot,
        bootedWithUki: security.bootedWithUki,
        fipsState: Number(security.fipsState),
      },
    }),
    kernelCmdline: redactParameters(kernelCmdlines[0]?.spec.cmdline ?? ""),
  };
}

/** The extension by which an image says from which schematic it was made. */
const SCHEMATIC_EXTENSION = "schematic";

function schematicOf({ extensions, versions }: MachineCopies): Pick<StatusInit, "schematic"> {
  const names = extensions.map(({ spec }) => spec.metadata?.name ?? "");
  const schematic = extensions.find(({ spec }) => spec.metadata?.name === SCHEMATIC_EXTENSION);
  // A machine tells its version together with its extensions, and an image may have none of these.
  if (versions.length === 0) return {};
  return {
    schematic: {
      invalid: schematic === undefined,
      extensions: names.filter((name) => name !== "" && name !== SCHEMATIC_EXTENSION),
      fullId: schematic?.spec.metadata?.version ?? "",
      raw: redactParameters(schematic?.spec.metadata?.extraInfo ?? ""),
    },
  };
}

/** Formats the bytes of an IP address; empty for none. */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return "";
  const groups = Array.from(
    { length: 8 },
    (_, i) => (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  );
  const zeros = [...groups.join(":").matchAll(/\b0(?::0)+\b/g)]
    .sort((a, b) => b[0].length - a[0].length)[0];
  if (zeros === undefined) return groups.join(":");
  const text = groups.join(":");
  return `${text.slice(0, zeros.index)}::${text.slice(zeros.index + zeros[0].length)}`
    .replace(/:{3,}/, "::");
}

function formatPrefix(prefix: NetIPPrefix | undefined): string {
  const ip = formatIp(prefix?.ip ?? new Uint8Array());
  return ip === "" ? "" : `${ip}/${prefix?.prefixLength ?? 0}`;
}

/** Formats a hardware address, for example `52:54:00:12:34:56`. */
export function formatMac(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(":");
}
