// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineConfigGenOption`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineConfigGenOptionsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * Facts about a machine that its configuration is generated from; the ID is the machine's UUID.
 */
export const MachineConfigGenOption = defineResource({
  type: "MachineConfigGenOptions.omni.sidero.dev",
  namespace: "default",
  schema: MachineConfigGenOptionsSpecSchema,
  access: "readOnly",
});
