// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `NodeAddress`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NodeAddressSpecSchema } from "../../proto/gen/talos/resource/network_pb.ts";

/** Addresses of the machine by use: `current`, `default`, `routed` and others. */
export const TalosNodeAddress = defineResource({
  type: "NodeAddresses.net.talos.dev",
  namespace: "talos-mirror",
  schema: NodeAddressSpecSchema,
  access: "readOnly",
  display: {
    displayType: "NodeAddress",
    printColumns: [{ name: "Addresses", jsonPath: "{.addresses}" }, {
      name: "SortAlgorithm",
      jsonPath: "{.sortAlgorithm}",
    }],
  },
});
