// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterStatusMetric`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterStatusMetricsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How many clusters are in which phase; one resource. */
export const ClusterStatusMetric = defineResource({
  type: "ClusterStatusMetrics.omni.sidero.dev",
  namespace: "ephemeral",
  schema: ClusterStatusMetricsSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
