// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `MachineStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineStatusSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/** The stage of the machine and what keeps it from being ready; the ID ends in `machine`. */
export const TalosMachineStatus = defineResource({
  type: "MachineStatuses.runtime.talos.dev",
  namespace: "talos-mirror",
  schema: MachineStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineStatus",
    printColumns: [{ name: "Stage", jsonPath: "{.stage}" }, {
      name: "Ready",
      jsonPath: "{.status.ready}",
    }],
  },
});
