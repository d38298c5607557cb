// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterWorkloadProxyStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterWorkloadProxyStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How many services of a cluster are exposed; the ID is the cluster's name. */
export const ClusterWorkloadProxyStatus = defineResource({
  type: "ClusterWorkloadProxyStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterWorkloadProxyStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterWorkloadProxyStatus",
    printColumns: [{ name: "Num Exposed Services", jsonPath: "{.numexposedservices}" }],
  },
});
