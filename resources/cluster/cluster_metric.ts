// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMetric`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMetricsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How many clusters use which feature; one resource. */
export const ClusterMetric = defineResource({
  type: "ClusterMetrics.omni.sidero.dev",
  namespace: "ephemeral",
  schema: ClusterMetricsSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
