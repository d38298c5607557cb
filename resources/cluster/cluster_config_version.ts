// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterConfigVersion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterConfigVersionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * The version contract under which a cluster's configurations are generated, fixed when the cluster is created.
 */
export const ClusterConfigVersion = defineResource({
  type: "ClusterConfigVersions.omni.sidero.dev",
  namespace: "default",
  schema: ClusterConfigVersionSpecSchema,
  access: "readOnly",
});
