// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineInstallDiskConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineInstallDiskConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateMachineInstallDiskConfig } from "./machine_rules.ts";

/** The disk that the user wants the system on; the ID is the machine's UUID. */
export const MachineInstallDiskConfig = defineResource({
  type: "MachineInstallDiskConfigs.omni.sidero.dev",
  namespace: "default",
  schema: MachineInstallDiskConfigSpecSchema,
  access: writable(validateMachineInstallDiskConfig),
  display: {
    printColumns: [{ name: "Disk", jsonPath: "{.disk}" }, {
      name: "Disk Selector",
      jsonPath: "{.diskselector}",
    }],
  },
});
