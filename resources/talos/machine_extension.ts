// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineExtension`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineExtensionsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The system extensions that a machine shall have; the ID is the machine's UUID. */
export const MachineExtension = defineResource({
  type: "MachineExtensions.omni.sidero.dev",
  namespace: "default",
  schema: MachineExtensionsSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Extensions", jsonPath: "{.extensions}" }],
  },
});
