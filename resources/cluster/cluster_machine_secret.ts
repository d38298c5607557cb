// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineSecret`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineSecretsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * Secrets of one machine while those of its cluster are rotated; the ID is the machine's UUID.
 */
export const ClusterMachineSecret = defineResource({
  type: "ClusterMachineSecrets.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineSecretsSpecSchema,
  access: "hidden",
});
