// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineConfigExtractionStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineConfigExtractionStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Whether the configuration with which a machine arrived was kept as a patch. */
export const MachineConfigExtractionStatus = defineResource({
  type: "MachineConfigExtractionStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineConfigExtractionStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineConfigExtractionStatus",
    printColumns: [{ name: "Initialized", jsonPath: "{.initialized}" }, {
      name: "Error",
      jsonPath: "{.error}",
    }],
  },
});
