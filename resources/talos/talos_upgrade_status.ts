// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `TalosUpgradeStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { TalosUpgradeStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the upgrade of the operating system is; the ID is the cluster's name. */
export const TalosUpgradeStatus = defineResource({
  type: "TalosUpgradeStatuses.omni.sidero.dev",
  namespace: "default",
  schema: TalosUpgradeStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "TalosUpgradeStatus",
  },
});
