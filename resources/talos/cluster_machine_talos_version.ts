// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineTalosVersion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineTalosVersionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The version and the schematic that a machine shall run; the ID is the machine's UUID. */
export const ClusterMachineTalosVersion = defineResource({
  type: "ClusterMachineTalosVersions.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineTalosVersionSpecSchema,
  access: "readOnly",
});
