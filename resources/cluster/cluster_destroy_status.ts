// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterDestroyStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { DestroyStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the removal of a cluster is, in words; the ID is the cluster's name. */
export const ClusterDestroyStatus = defineResource({
  type: "ClusterDestroyStatuses.omni.sidero.dev",
  namespace: "default",
  schema: DestroyStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterDestroyStatus",
    printColumns: [{ name: "Phase", jsonPath: "{.phase}" }],
  },
});
