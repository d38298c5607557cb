// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesUpgradeManifestStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesUpgradeManifestStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How many manifests of a cluster differ after an upgrade; the ID is the cluster's name. */
export const KubernetesUpgradeManifestStatus = defineResource({
  type: "KubernetesUpgradeManifestStatuses.omni.sidero.dev",
  namespace: "default",
  schema: KubernetesUpgradeManifestStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "KubernetesUpgradeManifestStatus",
  },
});
