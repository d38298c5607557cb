// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Support`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SupportSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Support that comes with this server; one resource. */
export const Support = defineResource({
  type: "Supports.omni.sidero.dev",
  namespace: "virtual",
  schema: SupportSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "SupportEnabled", jsonPath: "{.supportenabled}" }],
  },
  ephemeral: true,
});
