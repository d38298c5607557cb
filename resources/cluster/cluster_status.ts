// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The phase, readiness and machine counts of a cluster; the ID is the cluster's name. */
export const ClusterStatus = defineResource({
  type: "ClusterStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterStatus",
    printColumns: [
      { name: "Available", jsonPath: "{.available}" },
      { name: "Phase", jsonPath: "{.phase}" },
      { name: "Machines", jsonPath: "{.machines.total}" },
      { name: "Healthy", jsonPath: "{.machines.healthy}" },
    ],
  },
});
