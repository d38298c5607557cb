// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of what users say about machines that need nothing but the resource.
 *
 * @module
 */

import type {
  MachineClassSpecSchema,
  MachineInstallDiskConfigSpecSchema,
  NodeForceDestroyRequestSpecSchema,
} from "../../proto/gen/omni/specs_pb.ts";
import { onWrite, requireMachineId, type Rule, validatorOf } from "../rules.ts";

const checkSource: Rule<typeof MachineClassSpecSchema> = ({ spec }, refuse) => {
  if (spec.autoProvision !== undefined) {
    refuse("spec.autoProvision", "is not supported yet: machines are only chosen by their labels");
  } else if (spec.matchLabels.length === 0) {
    refuse("spec.matchLabels", "must hold at least one selector");
  }
};

/** Validates a MachineClass except for the words of its selectors. */
export const validateMachineClass = validatorOf<typeof MachineClassSpecSchema>(
  onWrite(checkSource),
);

const checkDisk: Rule<typeof MachineInstallDiskConfigSpecSchema> = ({ spec }, refuse) => {
  const { disk, diskSelector } = spec;
  if ((disk === "") === (diskSelector === "")) {
    refuse("spec", "must hold exactly one of disk and diskSelector");
  } else if (disk !== "" && !/^\/dev\/[^\s]+$/.test(disk)) {
    refuse("spec.disk", 'must be a path under "/dev/"', disk);
  }
};

/** Validates a MachineInstallDiskConfig except for the expression of its selector. */
export const validateMachineInstallDiskConfig = validatorOf<
  typeof MachineInstallDiskConfigSpecSchema
>(requireMachineId(), onWrite(checkDisk));

/** Validates a NodeForceDestroyRequest. */
export const validateNodeForceDestroyRequest = validatorOf<
  typeof NodeForceDestroyRequestSpecSchema
>(requireMachineId());
