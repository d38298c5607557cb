// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `UpgradeRollout`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { UpgradeRolloutSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * How many machines of a cluster may be upgraded at once, by set; the ID is the cluster's name.
 */
export const UpgradeRollout = defineResource({
  type: "UpgradeRollouts.omni.sidero.dev",
  namespace: "ephemeral",
  schema: UpgradeRolloutSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
