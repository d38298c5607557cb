// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterKubernetesManifestsStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterKubernetesManifestsStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the manifests of a cluster are applied; the ID is the cluster's name. */
export const ClusterKubernetesManifestsStatus = defineResource({
  type: "ClusterKubernetesManifestsStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterKubernetesManifestsStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterKubernetesManifestsStatus",
    printColumns: [{ name: "Out Of Sync", jsonPath: "{.outofsync}" }, {
      name: "Total Manifests",
      jsonPath: "{.total}",
    }],
  },
});
