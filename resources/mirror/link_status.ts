// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `LinkStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { LinkStatusSpecSchema } from "../../proto/gen/talos/resource/network_pb.ts";

/** A network interface of the machine, without the keys of tunnels; the ID ends in its name. */
export const TalosLinkStatus = defineResource({
  type: "LinkStatuses.net.talos.dev",
  namespace: "talos-mirror",
  schema: LinkStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "LinkStatus",
    printColumns: [
      { name: "Alias", jsonPath: "{.alias}" },
      { name: "Type", jsonPath: "{.type}" },
      { name: "Kind", jsonPath: "{.kind}" },
      { name: "Hw Addr", jsonPath: "{.hardwareAddr}" },
      { name: "Oper State", jsonPath: "{.operationalState}" },
      { name: "Link State", jsonPath: "{.linkState}" },
    ],
  },
});
