// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `SysVersion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SysVersionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The version of this server; one resource. */
export const SysVersion = defineResource({
  type: "SysVersions.system.sidero.dev",
  namespace: "ephemeral",
  schema: SysVersionSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
