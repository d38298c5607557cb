// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `AuthConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { AuthConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Which ways of logging in are enabled; one resource. */
export const AuthConfig = defineResource({
  type: "AuthConfigs.omni.sidero.dev",
  namespace: "default",
  schema: AuthConfigSpecSchema,
  access: "readOnly",
});
