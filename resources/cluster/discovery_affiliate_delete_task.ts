// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `DiscoveryAffiliateDeleteTask`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { DiscoveryAffiliateDeleteTaskSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A record to be removed from the discovery service. */
export const DiscoveryAffiliateDeleteTask = defineResource({
  type: "DiscoveryAffiliateDeleteTasks.omni.sidero.dev",
  namespace: "default",
  schema: DiscoveryAffiliateDeleteTaskSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Cluster ID", jsonPath: "{.clusterid}" }, {
      name: "Discovery Service Endpoint",
      jsonPath: "{.discoveryserviceendpoint}",
    }],
  },
});
