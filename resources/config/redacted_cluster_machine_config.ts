// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `RedactedClusterMachineConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { RedactedClusterMachineConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The complete configuration of a machine without secrets; the ID is the machine's UUID. */
export const RedactedClusterMachineConfig = defineResource({
  type: "RedactedClusterMachineConfigs.omni.sidero.dev",
  namespace: "default",
  schema: RedactedClusterMachineConfigSpecSchema,
  access: "readOnly",
});
