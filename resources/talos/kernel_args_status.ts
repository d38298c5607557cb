// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KernelArgsStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KernelArgsStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The kernel arguments that a machine has and shall have; the ID is the machine's UUID. */
export const KernelArgsStatus = defineResource({
  type: "KernelArgsStatuses.omni.sidero.dev",
  namespace: "default",
  schema: KernelArgsStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "KernelArgsStatus",
    printColumns: [
      { name: "Args", jsonPath: "{.args}" },
      { name: "Current Args", jsonPath: "{.currentargs}" },
      { name: "Unmet Conditions", jsonPath: "{.unmetconditions}" },
      { name: "Current Cmdline", jsonPath: "{.currentcmdline}" },
    ],
  },
});
