// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `JoinTokenStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { JoinTokenStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The state and use of a join token; the ID is the secret itself. */
export const JoinTokenStatus = defineResource({
  type: "JoinTokenStatuses.omni.sidero.dev",
  namespace: "default",
  schema: JoinTokenStatusSpecSchema,
  access: "hidden",
  display: {
    displayType: "JoinTokenStatus",
  },
});
