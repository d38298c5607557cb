// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraMachineConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraMachineConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/**
 * What the user wants of a provider's machine: accept, power, cordon; the ID is the machine's UUID.
 */
export const InfraMachineConfig = defineResource({
  type: "InfraMachineConfigs.omni.sidero.dev",
  namespace: "default",
  schema: InfraMachineConfigSpecSchema,
  access: writable(),
  display: {
    printColumns: [
      { name: "Power State", jsonPath: "{.powerstate}" },
      { name: "Acceptance", jsonPath: "{.acceptancestatus}" },
      { name: "Extra Kernel Args", jsonPath: "{.extrakernelargs}" },
      { name: "Requested Reboot ID", jsonPath: "{.requestedrebootid}" },
      { name: "Cordoned", jsonPath: "{.cordoned}" },
    ],
  },
});
