// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineStatusMetric`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineStatusMetricsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How many machines there are, by state; one resource. */
export const MachineStatusMetric = defineResource({
  type: "MachineStatusMetrics.omni.sidero.dev",
  namespace: "ephemeral",
  schema: MachineStatusMetricsSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
