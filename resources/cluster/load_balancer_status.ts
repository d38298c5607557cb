// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `LoadBalancerStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { LoadBalancerStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * Whether a cluster's load balancer listens and has a healthy endpoint; the ID is the cluster's name.
 */
export const LoadBalancerStatus = defineResource({
  type: "LoadBalancerStatuses.omni.sidero.dev",
  namespace: "default",
  schema: LoadBalancerStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "LoadBalancerStatus",
    printColumns: [{ name: "Healthy", jsonPath: "{.healthy}" }],
  },
});
