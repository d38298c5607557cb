// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraMachine`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraMachineSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * What a provider shall do with a machine that it owns: power, wipe, acceptance; the ID is the machine's UUID.
 */
export const InfraMachine = defineResource({
  type: "InfraMachines.omni.sidero.dev",
  namespace: "infra-provider",
  schema: InfraMachineSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Preferred Power State", jsonPath: "{.preferredpowerstate}" },
      { name: "Acceptance", jsonPath: "{.acceptancestatus}" },
      { name: "Cluster Talos Version", jsonPath: "{.clustertalosversion}" },
      { name: "Extensions", jsonPath: "{.extensions}" },
      { name: "Wipe ID", jsonPath: "{.wipeid}" },
      { name: "Extra Kernel Args", jsonPath: "{.extrakernelargs}" },
      { name: "Requested Reboot ID", jsonPath: "{.requestedrebootid}" },
      { name: "Cordoned", jsonPath: "{.cordoned}" },
      { name: "Install Event ID", jsonPath: "{.installeventid}" },
    ],
  },
});
