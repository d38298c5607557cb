// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ConfigPatch`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ConfigPatchSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateConfigPatch } from "./config_patch_rules.ts";

/** A patch of the configuration of a machine, a set or a cluster. */
export const ConfigPatch = defineResource({
  type: "ConfigPatches.omni.sidero.dev",
  namespace: "default",
  schema: ConfigPatchSpecSchema,
  access: writable(validateConfigPatch),
  display: {
    displayType: "ConfigPatch",
    sensitive: true,
  },
});
