// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `AddressStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { AddressStatusSpecSchema } from "../../proto/gen/talos/resource/network_pb.ts";

/** An address on a network interface of the machine. */
export const TalosAddressStatus = defineResource({
  type: "AddressStatuses.net.talos.dev",
  namespace: "talos-mirror",
  schema: AddressStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "AddressStatus",
    printColumns: [{ name: "Address", jsonPath: "{.address}" }, {
      name: "Link",
      jsonPath: "{.linkName}",
    }],
  },
});
