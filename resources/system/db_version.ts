// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `DBVersion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { DBVersionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The level to which the stored resources were migrated; one resource. */
export const DBVersion = defineResource({
  type: "DBVersions.system.sidero.dev",
  namespace: "default",
  schema: DBVersionSpecSchema,
  access: "readOnly",
});
