// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Link`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SiderolinkSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A machine's side of the tunnel; the ID is the machine's UUID. */
export const Link = defineResource({
  type: "Links.omni.sidero.dev",
  namespace: "default",
  schema: SiderolinkSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Connected", jsonPath: "{.connected}" }, {
      name: "LastEndpoint",
      jsonPath: "{.lastendpoint}",
    }],
  },
});
