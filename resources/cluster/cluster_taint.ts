// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterTaint`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterTaintSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Marks a cluster whose credentials left the server; the ID is the cluster's name. */
export const ClusterTaint = defineResource({
  type: "ClusterTaints.omni.sidero.dev",
  namespace: "default",
  schema: ClusterTaintSpecSchema,
  access: "readOnly",
});
