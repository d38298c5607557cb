// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `NodeUniqueTokenStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NodeUniqueTokenStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Whether a machine has a unique token and keeps it; the ID is the machine's UUID. */
export const NodeUniqueTokenStatus = defineResource({
  type: "NodeUniqueTokenStatuses.omni.sidero.dev",
  namespace: "default",
  schema: NodeUniqueTokenStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "NodeUniqueTokenStatus",
  },
});
