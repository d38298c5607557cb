// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `BackendStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { BackendStatusSpecSchema } from "../../proto/gen/batuta/status_pb.ts";

/** The state of the store behind the state; the ID is `backend`. */
export const BackendStatus = defineResource({
  type: "BackendStatuses.batuta.altlinux.org",
  namespace: "ephemeral",
  schema: BackendStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "BackendStatus",
    printColumns: [
      { name: "Kind", jsonPath: "{.kind}" },
      { name: "Healthy", jsonPath: "{.healthy}" },
    ],
  },
  ephemeral: true,
});
