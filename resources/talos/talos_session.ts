// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `TalosSession`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { TalosSessionSpecSchema } from "../../proto/gen/batuta/talos_pb.ts";

/** How the server talks to a machine's API; the ID is the machine's UUID. */
export const TalosSession = defineResource({
  type: "TalosSessions.batuta.altlinux.org",
  namespace: "ephemeral",
  schema: TalosSessionSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Address", jsonPath: "{.address}" },
      { name: "Cluster", jsonPath: "{.cluster}" },
    ],
  },
  ephemeral: true,
});
