// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `JoinRefusal`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { JoinRefusalSpecSchema } from "../../proto/gen/batuta/join_pb.ts";

/**
 * Why a machine that presents a valid join token is not let in; the ID is the UUID that it claims.
 * It goes when the machine is let in.
 */
export const JoinRefusal = defineResource({
  type: "JoinRefusals.batuta.altlinux.org",
  namespace: "ephemeral",
  schema: JoinRefusalSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Reason", jsonPath: "{.reason}" },
      { name: "Remote Address", jsonPath: "{.remoteaddress}" },
    ],
  },
  ephemeral: true,
});
