// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The types of the machines that are copied into the state.
 *
 * @module
 */

import type { ResourceType } from "../../cosi/resource.ts";
import { TalosAddressStatus } from "./address_status.ts";
import { TalosBootID } from "./boot_id.ts";
import { TalosDiagnostic } from "./diagnostic.ts";
import { TalosDisk } from "./disk.ts";
import { TalosEtcdMember } from "./etcd_member.ts";
import { TalosExtensionStatus } from "./extension_status.ts";
import { TalosHostnameStatus } from "./hostname_status.ts";
import { TalosIdentity } from "./identity.ts";
import { TalosImageFactorySchematic } from "./image_factory_schematic.ts";
import { TalosInfo } from "./info.ts";
import { TalosKernelCmdline } from "./kernel_cmdline.ts";
import { TalosLinkStatus } from "./link_status.ts";
import { TalosMachineStatus } from "./machine_status.ts";
import { TalosMember } from "./member.ts";
import { TalosMemoryModule } from "./memory_module.ts";
import { TalosNodeAddress } from "./node_address.ts";
import { TalosNodeStatus } from "./node_status.ts";
import { TalosNodename } from "./nodename.ts";
import { TalosPCIDevice } from "./pci_device.ts";
import { TalosPlatformMetadata } from "./platform_metadata.ts";
import { TalosProcessor } from "./processor.ts";
import { TalosResolverStatus } from "./resolver_status.ts";
import { TalosRouteStatus } from "./route_status.ts";
import { TalosSecurityState } from "./security_state.ts";
import { TalosService } from "./service.ts";
import { TalosSystemDisk } from "./system_disk.ts";
import { TalosSystemInformation } from "./system_information.ts";
import { TalosVersion } from "./version.ts";

/**
 * All copied types, by name of their file. Their IDs are `<machine>/<ID on the machine>`.
 *
 * Definitions of the same names of the machines themselves name another namespace.
 */
export const MIRRORED: readonly ResourceType[] = [
  TalosAddressStatus,
  TalosBootID,
  TalosDiagnostic,
  TalosDisk,
  TalosEtcdMember,
  TalosExtensionStatus,
  TalosHostnameStatus,
  TalosIdentity,
  TalosImageFactorySchematic,
  TalosInfo,
  TalosKernelCmdline,
  TalosLinkStatus,
  TalosMachineStatus,
  TalosMember,
  TalosMemoryModule,
  TalosNodeAddress,
  TalosNodeStatus,
  TalosNodename,
  TalosPCIDevice,
  TalosPlatformMetadata,
  TalosProcessor,
  TalosResolverStatus,
  TalosRouteStatus,
  TalosSecurityState,
  TalosService,
  TalosSystemDisk,
  TalosSystemInformation,
  TalosVersion,
];
