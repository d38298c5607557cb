// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `TalosExtension`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { TalosExtensionsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The system extensions that exist for a version; the ID is the version. */
export const TalosExtension = defineResource({
  type: "TalosExtensions.omni.sidero.dev",
  namespace: "default",
  schema: TalosExtensionsSpecSchema,
  access: "readOnly",
});
