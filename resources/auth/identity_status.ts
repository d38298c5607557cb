// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `IdentityStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { IdentityStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** An identity with its role and last activity; the ID is the identity's. */
export const IdentityStatus = defineResource({
  type: "IdentityStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: IdentityStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "IdentityStatus",
    printColumns: [{ name: "Role", jsonPath: "{.role}" }, {
      name: "Last Active",
      jsonPath: "{.lastactive}",
    }],
  },
  ephemeral: true,
});
