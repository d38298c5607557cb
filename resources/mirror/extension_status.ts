// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `ExtensionStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { LayerSchema } from "../../proto/gen/talos/resource/extensions_pb.ts";

/** A system extension of the machine; that of the schematic can hold a join token. */
export const TalosExtensionStatus = defineResource({
  type: "ExtensionStatuses.runtime.talos.dev",
  namespace: "talos-mirror",
  schema: LayerSchema,
  access: "hidden",
  display: {
    displayType: "ExtensionStatus",
    printColumns: [{ name: "Name", jsonPath: "{.metadata.name}" }, {
      name: "Version",
      jsonPath: "{.metadata.version}",
    }],
  },
});
