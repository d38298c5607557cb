// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Service`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ServiceSpecSchema } from "../../proto/gen/talos/resource/v1alpha1_pb.ts";

/** A service of the machine with its health; the ID ends in its name. */
export const TalosService = defineResource({
  type: "Services.v1alpha1.talos.dev",
  namespace: "talos-mirror",
  schema: ServiceSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Running", jsonPath: "{.running}" }, {
      name: "Healthy",
      jsonPath: "{.healthy}",
    }, { name: "Health Unknown", jsonPath: "{.unknown}" }],
  },
});
