// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineConfigPatch`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineConfigPatchesSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The patches that apply to a machine, in their order; the ID is the machine's UUID. */
export const ClusterMachineConfigPatch = defineResource({
  type: "ClusterMachineConfigPatches.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineConfigPatchesSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterMachineConfigPatch",
  },
});
