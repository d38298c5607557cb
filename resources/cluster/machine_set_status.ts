// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineSetStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineSetStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The phase, readiness and machine counts of a set; the ID is the machine set's. */
export const MachineSetStatus = defineResource({
  type: "MachineSetStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineSetStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineSetStatus",
  },
});
