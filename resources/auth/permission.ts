// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Permission`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PermissionsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What the caller may do; one resource. */
export const Permission = defineResource({
  type: "Permissions.omni.sidero.dev",
  namespace: "virtual",
  schema: PermissionsSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
