// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `CloudPlatformConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PlatformConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A cloud for which installation media exist. */
export const CloudPlatformConfig = defineResource({
  type: "CloudPlatformConfigs.omni.sidero.dev",
  namespace: "virtual",
  schema: PlatformConfigSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
