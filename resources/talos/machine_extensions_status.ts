// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineExtensionsStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineExtensionsStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the system extensions of a machine are installed; the ID is the machine's UUID. */
export const MachineExtensionsStatus = defineResource({
  type: "MachineExtensionsStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineExtensionsStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineExtensionsStatus",
    printColumns: [{ name: "Extensions", jsonPath: "{.extensions}" }],
  },
});
