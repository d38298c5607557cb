// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineSetDestroyStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { DestroyStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the removal of a machine set is, in words; the ID is the machine set's. */
export const MachineSetDestroyStatus = defineResource({
  type: "MachineSetDestroyStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: DestroyStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineSetDestroyStatus",
    printColumns: [{ name: "Phase", jsonPath: "{.phase}" }],
  },
  ephemeral: true,
});
