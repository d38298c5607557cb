// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MetalPlatformConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PlatformConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Plain hardware for which installation media exist. */
export const MetalPlatformConfig = defineResource({
  type: "MetalPlatformConfigs.omni.sidero.dev",
  namespace: "virtual",
  schema: PlatformConfigSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
