// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `PublicKeyLastActive`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PublicKeyLastActiveSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** When a key was used last; the ID is the key's. */
export const PublicKeyLastActive = defineResource({
  type: "PublicKeyLastActives.omni.sidero.dev",
  namespace: "metrics",
  schema: PublicKeyLastActiveSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
