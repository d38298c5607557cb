// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineRequestStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineRequestStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The state of a machine request of a cluster. */
export const ClusterMachineRequestStatus = defineResource({
  type: "ClusterMachineRequestStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineRequestStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterMachineRequestStatus",
    printColumns: [{ name: "Stage", jsonPath: "{.stage}" }],
  },
});
