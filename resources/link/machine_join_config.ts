// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineJoinConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineJoinConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * The documents with which a machine finds the server, join token included; the ID is the machine's UUID.
 */
export const MachineJoinConfig = defineResource({
  type: "MachineJoinConfigs.omni.sidero.dev",
  namespace: "default",
  schema: MachineJoinConfigSpecSchema,
  access: "hidden",
});
