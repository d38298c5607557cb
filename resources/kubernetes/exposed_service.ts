// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ExposedService`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ExposedServiceSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A service of a cluster that is reachable through the server. */
export const ExposedService = defineResource({
  type: "ExposedServices.omni.sidero.dev",
  namespace: "default",
  schema: ExposedServiceSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Port", jsonPath: "{.port}" },
      { name: "Label", jsonPath: "{.label}" },
      { name: "URL", jsonPath: "{.url}" },
      { name: "Error", jsonPath: "{.error}" },
      { name: "Has Explicit Alias", jsonPath: "{.hasexplicitalias}" },
    ],
  },
});
