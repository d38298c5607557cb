// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `User`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { UserSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Somebody who has a role. */
export const User = defineResource({
  type: "Users.omni.sidero.dev",
  namespace: "default",
  schema: UserSpecSchema,
  access: "readOnly",
});
