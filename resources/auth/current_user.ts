// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `CurrentUser`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { CurrentUserSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Who the caller is; one resource. */
export const CurrentUser = defineResource({
  type: "CurrentUsers.omni.sidero.dev",
  namespace: "virtual",
  schema: CurrentUserSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Identity", jsonPath: "{.identity}" }, {
      name: "Role",
      jsonPath: "{.role}",
    }],
  },
  ephemeral: true,
});
