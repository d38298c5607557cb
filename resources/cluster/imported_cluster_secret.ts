// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ImportedClusterSecret`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ImportedClusterSecretsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The secrets bundle of a cluster that is being imported; the ID is the cluster's name. */
export const ImportedClusterSecret = defineResource({
  type: "ImportedClusterSecrets.omni.sidero.dev",
  namespace: "default",
  schema: ImportedClusterSecretsSpecSchema,
  access: "hidden",
});
