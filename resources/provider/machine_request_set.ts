// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineRequestSet`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineRequestSetSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Several machines wanted of a provider, alike. */
export const MachineRequestSet = defineResource({
  type: "MachineRequestSets.omni.sidero.dev",
  namespace: "default",
  schema: MachineRequestSetSpecSchema,
  access: writable(),
  display: {
    printColumns: [{ name: "ProviderID", jsonPath: "{.providerid}" }, {
      name: "MachineCount",
      jsonPath: "{.machinecount}",
    }],
  },
});
