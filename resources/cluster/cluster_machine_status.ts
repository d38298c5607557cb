// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The stage and readiness of a machine in its cluster; the ID is the machine's UUID. */
export const ClusterMachineStatus = defineResource({
  type: "ClusterMachineStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterMachineStatus",
    printColumns: [{ name: "Ready", jsonPath: "{.ready}" }, {
      name: "Stage",
      jsonPath: "{.stage}",
    }],
  },
});
