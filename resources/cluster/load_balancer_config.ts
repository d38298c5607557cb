// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `LoadBalancerConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { LoadBalancerConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The port and the endpoints of a cluster's load balancer; the ID is the cluster's name. */
export const LoadBalancerConfig = defineResource({
  type: "LoadBalancerConfigs.omni.sidero.dev",
  namespace: "default",
  schema: LoadBalancerConfigSpecSchema,
  access: "readOnly",
});
