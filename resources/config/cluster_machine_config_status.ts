// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineConfigStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineConfigStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What was applied to a machine last; the ID is the machine's UUID. */
export const ClusterMachineConfigStatus = defineResource({
  type: "ClusterMachineConfigStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineConfigStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterMachineConfigStatus",
  },
});
