// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `PendingMachineStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PendingMachineStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What was done for a machine that is not admitted yet; the ID is its public key. */
export const PendingMachineStatus = defineResource({
  type: "PendingMachineStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: PendingMachineStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "PendingMachineStatus",
  },
  ephemeral: true,
});
