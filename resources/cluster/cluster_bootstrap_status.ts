// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterBootstrapStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterBootstrapStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Whether etcd of a cluster was bootstrapped; the ID is the cluster's name. */
export const ClusterBootstrapStatus = defineResource({
  type: "ClusterBootstrapStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterBootstrapStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterBootstrapStatus",
    printColumns: [{ name: "Bootstrapped", jsonPath: "{.bootstrapped}" }],
  },
});
