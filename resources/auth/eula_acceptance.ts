// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EulaAcceptance`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EulaAcceptanceSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Who accepted the licence of the product; one resource. */
export const EulaAcceptance = defineResource({
  type: "EulaAcceptances.omni.sidero.dev",
  namespace: "default",
  schema: EulaAcceptanceSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Name", jsonPath: "{.acceptedbyname}" }, {
      name: "Email",
      jsonPath: "{.acceptedbyemail}",
    }],
  },
});
