// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachine`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A machine that belongs to a cluster; the ID is the machine's UUID. */
export const ClusterMachine = defineResource({
  type: "ClusterMachines.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineSpecSchema,
  access: "readOnly",
});
