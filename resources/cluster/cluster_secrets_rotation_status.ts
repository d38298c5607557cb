// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterSecretsRotationStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterSecretsRotationStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the rotation of a cluster's secrets is; the ID is the cluster's name. */
export const ClusterSecretsRotationStatus = defineResource({
  type: "ClusterSecretsRotationStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterSecretsRotationStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterSecretsRotationStatus",
  },
});
