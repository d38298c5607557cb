// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineSetConfigStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineSetConfigStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Whether the machines of a set may take a new configuration; the ID is the machine set's. */
export const MachineSetConfigStatus = defineResource({
  type: "MachineSetConfigStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineSetConfigStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineSetConfigStatus",
  },
});
