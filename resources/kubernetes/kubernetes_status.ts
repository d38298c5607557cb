// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * Nodes and static pods as a cluster's Kubernetes reports them; the ID is the cluster's name.
 */
export const KubernetesStatus = defineResource({
  type: "KubernetesStatuses.omni.sidero.dev",
  namespace: "default",
  schema: KubernetesStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "KubernetesStatus",
  },
});
