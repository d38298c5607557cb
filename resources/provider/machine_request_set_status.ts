// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineRequestSetStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineRequestSetStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far a set of machine requests is; the ID is the set's. */
export const MachineRequestSetStatus = defineResource({
  type: "MachineRequestSetStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineRequestSetStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineRequestSetStatus",
  },
});
