// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `TalosConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { TalosConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Credentials for the machines of a cluster; the ID is the cluster's name. */
export const TalosConfig = defineResource({
  type: "TalosConfigs.omni.sidero.dev",
  namespace: "default",
  schema: TalosConfigSpecSchema,
  access: "hidden",
});
