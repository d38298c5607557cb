// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MaintenanceConfigStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MaintenanceConfigStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The configuration given to a machine in maintenance; the ID is the machine's UUID. */
export const MaintenanceConfigStatus = defineResource({
  type: "MaintenanceConfigStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MaintenanceConfigStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MaintenanceConfigStatus",
    printColumns: [{ name: "Public Key At Last Apply", jsonPath: "{.publickeyatlastapply}" }],
  },
});
