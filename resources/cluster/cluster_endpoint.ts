// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterEndpoint`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterEndpointSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Tunnel addresses of a cluster's control plane machines; the ID is the cluster's name. */
export const ClusterEndpoint = defineResource({
  type: "ClusterEndpoints.omni.sidero.dev",
  namespace: "default",
  schema: ClusterEndpointSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Endpoints", jsonPath: "{.managementaddresses}" }],
  },
});
