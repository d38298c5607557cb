// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The inventory and the state of a machine; the ID is its UUID. */
export const MachineStatus = defineResource({
  type: "MachineStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineStatus",
  },
});
