// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `SchematicConfiguration`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SchematicConfigurationSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The schematic that a machine shall run; the ID is the machine's UUID. */
export const SchematicConfiguration = defineResource({
  type: "SchematicConfigurations.omni.sidero.dev",
  namespace: "default",
  schema: SchematicConfigurationSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Schematic ID", jsonPath: "{.schematicid}" }, {
      name: "Talos Version",
      jsonPath: "{.talosversion}",
    }],
  },
});
