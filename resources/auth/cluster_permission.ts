// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterPermission`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterPermissionsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What the caller may do with a cluster; the ID is the cluster's name. */
export const ClusterPermission = defineResource({
  type: "ClusterPermissions.omni.sidero.dev",
  namespace: "virtual",
  schema: ClusterPermissionsSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
