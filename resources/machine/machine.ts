// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Machine`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A machine that joined; the ID is its UUID. */
export const Machine = defineResource({
  type: "Machines.omni.sidero.dev",
  namespace: "default",
  schema: MachineSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Address", jsonPath: "{.managementaddress}" }, {
      name: "Connected",
      jsonPath: "{.connected}",
    }],
  },
});
