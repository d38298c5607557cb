// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesUsage`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesUsageSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * How much of a cluster's processors, memory and pods is in use; the ID is the cluster's name.
 */
export const KubernetesUsage = defineResource({
  type: "KubernetesUsages.omni.sidero.dev",
  namespace: "virtual",
  schema: KubernetesUsageSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
