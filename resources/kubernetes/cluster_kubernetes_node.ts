// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterKubernetesNode`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterKubernetesNodesSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The names of the nodes that a cluster shall have; the ID is the cluster's name. */
export const ClusterKubernetesNode = defineResource({
  type: "ClusterKubernetesNodes.omni.sidero.dev",
  namespace: "default",
  schema: ClusterKubernetesNodesSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Nodes", jsonPath: "{.nodes}" }],
  },
});
