// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesNodeAuditResult`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesNodeAuditResultSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The nodes that the last audit removed; the ID is the cluster's name. */
export const KubernetesNodeAuditResult = defineResource({
  type: "KubernetesNodeAuditResults.omni.sidero.dev",
  namespace: "default",
  schema: KubernetesNodeAuditResultSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Deleted Nodes", jsonPath: "{.deletednodes}" }],
  },
});
