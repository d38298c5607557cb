// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachinePendingUpdate`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachinePendingUpdatesSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Changes of a machine that wait for their turn; the ID is the machine's UUID. */
export const MachinePendingUpdate = defineResource({
  type: "MachinePendingUpdates.omni.sidero.dev",
  namespace: "default",
  schema: MachinePendingUpdatesSpecSchema,
  access: "readOnly",
});
