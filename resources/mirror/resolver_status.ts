// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `ResolverStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ResolverStatusSpecSchema } from "../../proto/gen/talos/resource/network_pb.ts";

/** The name servers of the machine. */
export const TalosResolverStatus = defineResource({
  type: "ResolverStatuses.net.talos.dev",
  namespace: "talos-mirror",
  schema: ResolverStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ResolverStatus",
    printColumns: [{ name: "Resolvers", jsonPath: "{.dnsServers}" }, {
      name: "Search Domains",
      jsonPath: "{.searchDomains}",
    }],
  },
});
