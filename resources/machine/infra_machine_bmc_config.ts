// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraMachineBMCConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraMachineBMCConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/**
 * Access to the management controller of a machine, given by hand; the ID is the machine's UUID.
 */
export const InfraMachineBMCConfig = defineResource({
  type: "InfraMachineBMCConfigs.omni.sidero.dev",
  namespace: "default",
  schema: InfraMachineBMCConfigSpecSchema,
  access: writable(),
  display: {
    printColumns: [{ name: "IPMI Address", jsonPath: "{.ipmi.address}" }, {
      name: "IPMI Username",
      jsonPath: "{.ipmi.username}",
    }],
  },
});
