// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `ImageFactorySchematic`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ImageFactorySchematicSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/** The schematic of the machine's image; the ID ends in `image-factory-schematic`. */
export const TalosImageFactorySchematic = defineResource({
  type: "ImageFactorySchematics.runtime.talos.dev",
  namespace: "talos-mirror",
  schema: ImageFactorySchematicSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Schematic ID", jsonPath: "{.schematicId}" }, {
      name: "Flavor",
      jsonPath: "{.flavor}",
    }, { name: "API URL", jsonPath: "{.apiUrl}" }],
  },
});
