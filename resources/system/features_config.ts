// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `FeaturesConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { FeaturesConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What this server offers, and its image factory; one resource. */
export const FeaturesConfig = defineResource({
  type: "FeaturesConfigs.omni.sidero.dev",
  namespace: "default",
  schema: FeaturesConfigSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Workload Proxying", jsonPath: "{.enableworkloadproxying}" }],
  },
});
