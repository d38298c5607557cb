// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `TalosSessionStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { TalosSessionStatusSpecSchema } from "../../proto/gen/batuta/talos_pb.ts";

/** How the session with a machine fares; the ID is the machine's UUID. */
export const TalosSessionStatus = defineResource({
  type: "TalosSessionStatuses.batuta.altlinux.org",
  namespace: "ephemeral",
  schema: TalosSessionStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "TalosSessionStatus",
    printColumns: [
      { name: "Connected", jsonPath: "{.connected}" },
      { name: "Last Error", jsonPath: "{.lasterror}" },
    ],
  },
  ephemeral: true,
});
