// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ConfigPatchRequest`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ConfigPatchSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateConfigPatchRequest } from "../config/config_patch_rules.ts";

/** A patch that a provider wants on a machine it made. */
export const ConfigPatchRequest = defineResource({
  type: "ConfigPatchRequests.omni.sidero.dev",
  namespace: "infra-provider",
  schema: ConfigPatchSpecSchema,
  access: writable(validateConfigPatchRequest),
  display: {
    sensitive: true,
  },
});
