// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Tells of every machine what it is, where it stands and whether a cluster may take it.
 *
 * What the machine last said of itself stays when it disconnects.
 *
 * @module
 */

import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { MachineStatusSpec_Role as Role } from "../../proto/gen/omni/specs_pb.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import {
  LABEL_AVAILABLE,
  LABEL_CLUSTER,
  LABEL_CONNECTED,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_CORES,
  LABEL_DISCONNECTED,
  LABEL_INVALID_STATE,
  LABEL_MACHINE_ADDRESS,
  LABEL_MACHINE_SET,
  LABEL_MEM,
  LABEL_MIRROR_MACHINE,
  LABEL_PLATFORM,
  LABEL_REPORTING_EVENTS,
  LABEL_STORAGE,
  LABEL_TALOS_VERSION,
  LABEL_WORKER_ROLE,
} from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { MachineStatusSnapshot } from "../../resources/machine/machine_status_snapshot.ts";
import { TalosAddressStatus } from "../../resources/mirror/address_status.ts";
import { TalosDiagnostic } from "../../resources/mirror/diagnostic.ts";
import { TalosDisk } from "../../resources/mirror/disk.ts";
import { TalosExtensionStatus } from "../../resources/mirror/extension_status.ts";
import { TalosHostnameStatus } from "../../resources/mirror/hostname_status.ts";
import { TalosKernelCmdline } from "../../resources/mirror/kernel_cmdline.ts";
import { TalosLinkStatus } from "../../resources/mirror/link_status.ts";
import { TalosMemoryModule } from "../../resources/mirror/memory_module.ts";
import { TalosPlatformMetadata } from "../../resources/mirror/platform_metadata.ts";
import { TalosProcessor } from "../../resources/mirror/processor.ts";
import { TalosRouteStatus } from "../../resources/mirror/route_status.ts";
import { TalosSecurityState } from "../../resources/mirror/security_state.ts";
import { TalosSystemDisk } from "../../resources/mirror/system_disk.ts";
import { TalosVersion } from "../../resources/mirror/version.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";
import { isInMaintenance } from "../talos/target.ts";
import { inventoryOf, type MachineCopies } from "./inventory.ts";

/** What a MachineStatus follows from besides the Machine. */
export interface MachineStatusFacts {
  readonly snapshot: Resource<typeof MachineStatusSnapshot> | undefined;
  readonly clusterMachine: Resource<typeof ClusterMachine> | undefined;
  readonly session: Resource<typeof TalosSessionStatus> | undefined;
  readonly current: Resource<typeof MachineStatus> | undefined;
  readonly copies: MachineCopies;
}

const MAPPED = [
  sameId(MachineStatusSnapshot),
  sameId(ClusterMachine),
  sameId(TalosSessionStatus),
  sameId(MachineStatus),
  byLabel(TalosAddressStatus, LABEL_MIRROR_MACHINE),
  byLabel(TalosDiagnostic, LABEL_MIRROR_MACHINE),
  byLabel(TalosDisk, LABEL_MIRROR_MACHINE),
  byLabel(TalosExtensionStatus, LABEL_MIRROR_MACHINE),
  byLabel(TalosHostnameStatus, LABEL_MIRROR_MACHINE),
  byLabel(TalosKernelCmdline, LABEL_MIRROR_MACHINE),
  byLabel(TalosLinkStatus, LABEL_MIRROR_MACHINE),
  byLabel(TalosMemoryModule, LABEL_MIRROR_MACHINE),
  byLabel(TalosPlatformMetadata, LABEL_MIRROR_MACHINE),
  byLabel(TalosProcessor, LABEL_MIRROR_MACHINE),
  byLabel(TalosRouteStatus, LABEL_MIRROR_MACHINE),
  byLabel(TalosSecurityState, LABEL_MIRROR_MACHINE),
  byLabel(TalosSystemDisk, LABEL_MIRROR_MACHINE),
  byLabel(TalosVersion, LABEL_MIRROR_MACHINE),
] as const;

/** Creates the controller. */
export function machineStatusController(): Controller {
  return defineController({
    name: "machine.MachineStatusController",
    primary: Machine,
    mapped: MAPPED,
    output: MachineStatus,
    gather: gatherMachineStatusFacts,
    plan: planMachineStatus,
  });
}

async function gatherMachineStatusFacts(
  { metadata: { id } }: Resource<typeof Machine>,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<MachineStatusFacts> {
  return {
    snapshot: await reader.find(MachineStatusSnapshot, id),
    clusterMachine: await reader.find(ClusterMachine, id),
    session: await reader.find(TalosSessionStatus, id),
    current: await reader.find(MachineStatus, id),
    copies: await readCopies(id, reader),
  };
}

async function readCopies(
  machine: string,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<MachineCopies> {
  const options = { labels: { [LABEL_MIRROR_MACHINE]: machine } };
  return {
    addresses: await reader.list(TalosAddressStatus, options),
    diagnostics: await reader.list(TalosDiagnostic, options),
    disks: await reader.list(TalosDisk, options),
    extensions: await reader.list(TalosExtensionStatus, options),
    hostnames: await reader.list(TalosHostnameStatus, options),
    kernelCmdlines: await reader.list(TalosKernelCmdline, options),
    links: await reader.list(TalosLinkStatus, options),
    memoryModules: await reader.list(TalosMemoryModule, options),
    platformMetadatas: await reader.list(TalosPlatformMetadata, options),
    processors: await reader.list(TalosProcessor, options),
    routes: await reader.list(TalosRouteStatus, options),
    securityStates: await reader.list(TalosSecurityState, options),
    systemDisks: await reader.list(TalosSystemDisk, options),
    versions: await reader.list(TalosVersion, options),
  };
}

/** Derives the status of a machine. */
export function planMachineStatus(
  machine: Resource<typeof Machine>,
  facts: MachineStatusFacts,
): Plan<typeof MachineStatus> {
  const { snapshot, clusterMachine, session, current, copies } = facts;
  const inventory = inventoryOf(copies);
  const cluster = clusterMachine?.metadata.labels[LABEL_CLUSTER] ?? "";
  return {
    kind: "write",
    spec: {
      ...inventory,
      // An image of another schematic must not hide with which one the machine first came.
      ...(inventory.schematic === undefined ? {} : {
        schematic: {
          ...inventory.schematic,
          initialSchematic: current?.spec.schematic?.initialSchematic ||
            inventory.schematic.fullId || "",
        },
      }),
      initialTalosVersion: current?.spec.initialTalosVersion || inventory.talosVersion || "",
      lastError: session?.spec.lastError ?? "",
      managementAddress: machine.spec.managementAddress,
      connected: machine.spec.connected,
      maintenance: isInMaintenance(snapshot),
      cluster,
      role: roleOf(clusterMachine),
    },
    labels: labelsOf(machine, facts),
  };
}

function roleOf(clusterMachine: Resource<typeof ClusterMachine> | undefined): Role {
  if (clusterMachine === undefined) return Role.NONE;
  return LABEL_CONTROL_PLANE_ROLE in clusterMachine.metadata.labels
    ? Role.CONTROL_PLANE
    : Role.WORKER;
}

const GIB = 1024 ** 3;

function labelsOf(
  machine: Resource<typeof Machine>,
  { snapshot, clusterMachine, session, copies }: MachineStatusFacts,
): Record<string, string> {
  const platform = copies.platformMetadatas[0]?.spec.platform;
  const version = copies.versions[0]?.spec.version;
  const cores = copies.processors.reduce((sum, { spec }) => sum + spec.coreCount, 0);
  const memoryMib = copies.memoryModules.reduce((sum, { spec }) => sum + spec.size, 0);
  const storage = copies.disks.reduce((sum, { spec }) => sum + Number(spec.size), 0);
  return {
    [machine.spec.connected ? LABEL_CONNECTED : LABEL_DISCONNECTED]: "",
    [LABEL_MACHINE_ADDRESS]: machine.spec.managementAddress,
    ...(snapshot === undefined ? {} : { [LABEL_REPORTING_EVENTS]: "" }),
    ...(session?.spec.credentialsRefused === true ? { [LABEL_INVALID_STATE]: "" } : {}),
    ...(platform === undefined ? {} : { [LABEL_PLATFORM]: platform }),
    ...(version === undefined ? {} : { [LABEL_TALOS_VERSION]: version }),
    ...(cores === 0 ? {} : { [LABEL_CORES]: String(cores) }),
    ...(memoryMib === 0 ? {} : { [LABEL_MEM]: `${Math.round(memoryMib / 1024)}GiB` }),
    ...(storage === 0 ? {} : { [LABEL_STORAGE]: `${Math.round(storage / GIB)}GiB` }),
    ...(clusterMachine === undefined ? { [LABEL_AVAILABLE]: "" } : clusterLabels(clusterMachine)),
  };
}

function clusterLabels(
  { metadata: { labels } }: Resource<typeof ClusterMachine>,
): Record<string, string> {
  const kept = [LABEL_CLUSTER, LABEL_MACHINE_SET, LABEL_CONTROL_PLANE_ROLE, LABEL_WORKER_ROLE];
  return Object.fromEntries(kept.flatMap((name) => {
    const value = labels[name];
    return value === undefined ? [] : [[name, value]];
  }));
}
