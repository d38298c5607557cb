// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `RouteStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { RouteStatusSpecSchema } from "../../proto/gen/talos/resource/network_pb.ts";

/** A route of the machine. */
export const TalosRouteStatus = defineResource({
  type: "RouteStatuses.net.talos.dev",
  namespace: "talos-mirror",
  schema: RouteStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "RouteStatus",
    printColumns: [
      { name: "Destination", jsonPath: "{.dst}" },
      { name: "Gateway", jsonPath: "{.gateway}" },
      { name: "Link", jsonPath: "{.outLinkName}" },
      { name: "Metric", jsonPath: "{.priority}" },
    ],
  },
});
