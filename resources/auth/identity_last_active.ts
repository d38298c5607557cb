// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `IdentityLastActive`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { IdentityLastActiveSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** When somebody was active last; the ID is the identity's. */
export const IdentityLastActive = defineResource({
  type: "IdentityLastActives.omni.sidero.dev",
  namespace: "metrics",
  schema: IdentityLastActiveSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
