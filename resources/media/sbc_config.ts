// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `SBCConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SBCConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A single-board computer for which installation media exist. */
export const SBCConfig = defineResource({
  type: "SBCConfigs.omni.sidero.dev",
  namespace: "virtual",
  schema: SBCConfigSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
