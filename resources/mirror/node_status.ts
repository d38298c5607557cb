// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `NodeStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NodeStatusSpecSchema } from "../../proto/gen/talos/resource/k8s_pb.ts";

/** The machine's node as its Kubernetes reports it. */
export const TalosNodeStatus = defineResource({
  type: "NodeStatuses.kubernetes.talos.dev",
  namespace: "talos-mirror",
  schema: NodeStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "NodeStatus",
    printColumns: [{ name: "Ready", jsonPath: "{.nodeReady}" }, {
      name: "Unschedulable",
      jsonPath: "{.unschedulable}",
    }],
  },
});
