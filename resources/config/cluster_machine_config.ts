// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The complete configuration of a machine, secrets included; the ID is the machine's UUID. */
export const ClusterMachineConfig = defineResource({
  type: "ClusterMachineConfigs.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineConfigSpecSchema,
  access: "hidden",
});
