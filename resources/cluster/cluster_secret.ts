// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterSecret`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterSecretsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The secrets bundle of a cluster; the ID is the cluster's name. */
export const ClusterSecret = defineResource({
  type: "ClusterSecrets.omni.sidero.dev",
  namespace: "default",
  schema: ClusterSecretsSpecSchema,
  access: "hidden",
});
