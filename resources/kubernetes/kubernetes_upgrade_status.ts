// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesUpgradeStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesUpgradeStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the upgrade of Kubernetes is; the ID is the cluster's name. */
export const KubernetesUpgradeStatus = defineResource({
  type: "KubernetesUpgradeStatuses.omni.sidero.dev",
  namespace: "default",
  schema: KubernetesUpgradeStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "KubernetesUpgradeStatus",
  },
});
