// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `LinkStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { LinkStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The peer of a machine as the tunnel device has it. */
export const LinkStatus = defineResource({
  type: "LinkStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: LinkStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "LinkStatus",
  },
  ephemeral: true,
});
