// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `BMCConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { BMCConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * Access to the management controller of a machine, for its provider; the ID is the machine's UUID.
 */
export const BMCConfig = defineResource({
  type: "BMCConfigs.omni.sidero.dev",
  namespace: "infra-provider",
  schema: BMCConfigSpecSchema,
  access: "hidden",
});
