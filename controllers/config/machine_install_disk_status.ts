// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Chooses the disk that a machine is installed on, and says of every other why not.
 *
 * The user's choice stands, a path or an expression; without one it is the smallest disk that is
 * large enough. Among several that an expression selects it is the smallest, too.
 *
 * @module
 */

import { createHash } from "node:crypto";
import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import type { MachineStatusSpec_HardwareStatus_BlockDevice as BlockDevice } from "../../proto/gen/omni/specs_pb.ts";
import { MachineInstallDiskConfig } from "../../resources/machine/machine_install_disk_config.ts";
import { MachineInstallDiskStatus } from "../../resources/machine/machine_install_disk_status.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { compileDiskSelector } from "./disk_selector.ts";

/** What the choice depends on besides the machine. */
export interface InstallDiskFacts {
  readonly wanted: Resource<typeof MachineInstallDiskConfig> | undefined;
}

/** Smaller disks cannot hold the system. */
const MINIMUM_BYTES = 5_000_000_000n;

/** Creates the controller. */
export function machineInstallDiskStatusController(): Controller {
  return defineController({
    name: "config.MachineInstallDiskStatusController",
    primary: MachineStatus,
    mapped: [sameId(MachineInstallDiskConfig)],
    output: MachineInstallDiskStatus,
    gather: async ({ metadata: { id } }, reader: Reader<typeof MachineInstallDiskConfig>) => ({
      wanted: await reader.find(MachineInstallDiskConfig, id),
    }),
    plan: planMachineInstallDiskStatus,
  });
}

/** Chooses. */
export function planMachineInstallDiskStatus(
  machine: Resource<typeof MachineStatus>,
  { wanted }: InstallDiskFacts,
): Plan<typeof MachineInstallDiskStatus> {
  const devices = machine.spec.hardware?.blockdevices ?? [];
  const disks = devices.map((device) => {
    const skipReason = skipReasonOf(device);
    return { devPath: device.devPath, selectable: skipReason === "", skipReason };
  });
  const choice = wanted === undefined ? automatic(devices) : explicit(wanted, devices);
  const selection = JSON.stringify([wanted?.spec.disk, wanted?.spec.diskSelector, disks]);
  return {
    kind: "write",
    spec: {
      ...choice,
      disks,
      selectionHash: createHash("sha256").update(selection).digest("hex"),
    },
  };
}

interface Choice {
  readonly disk: string;
  /** Why there is no disk; empty when there is one. */
  readonly message: string;
}

function skipReasonOf(device: BlockDevice): string {
  if (device.cdrom) return "it is a CD drive";
  if (device.readonly) return "it is read-only";
  return device.size < MINIMUM_BYTES ? "it is smaller than 5 GB" : "";
}

function automatic(devices: readonly BlockDevice[]): Choice {
  // What is installed already stays where it is.
  const system = devices.find((device) => device.systemDisk);
  if (system !== undefined) return { disk: system.devPath, message: "" };
  return smallest(devices, "the machine has no disk that is large enough");
}

function smallest(devices: readonly BlockDevice[], message: string): Choice {
  const [first] = devices.filter((device) => skipReasonOf(device) === "").sort((a, b) =>
    a.size < b.size ? -1 : a.size > b.size ? 1 : a.devPath < b.devPath ? -1 : 1
  );
  return first === undefined ? { disk: "", message } : { disk: first.devPath, message: "" };
}

function bySelector(expression: string, devices: readonly BlockDevice[]): Choice {
  const select = compileDiskSelector(expression);
  const selections = devices.map((device) => ({ device, selection: select(device) }));
  const failed = selections.map(({ selection }) => selection).find((each) => "error" in each);
  if (failed !== undefined) {
    return { disk: "", message: `disk selector "${expression}" cannot be used: ${failed.error}` };
  }
  const selected = selections.filter(({ selection }) =>
    "isSelected" in selection && selection.isSelected
  );
  const message = `disk selector "${expression}" selects no disk that can be used`;
  return smallest(selected.map(({ device }) => device), message);
}

function explicit(
  { spec }: Resource<typeof MachineInstallDiskConfig>,
  devices: readonly BlockDevice[],
): Choice {
  if (spec.diskSelector !== "") return bySelector(spec.diskSelector, devices);
  const device = devices.find(({ devPath, symlinks }) =>
    devPath === spec.disk || symlinks.includes(spec.disk)
  );
  if (device === undefined) {
    return { disk: "", message: `the machine has no disk "${spec.disk}"` };
  }
  const skipReason = skipReasonOf(device);
  return skipReason === ""
    ? { disk: device.devPath, message: "" }
    : { disk: "", message: `disk "${spec.disk}" cannot be used: ${skipReason}` };
}
