// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineUpgradeStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineUpgradeStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the upgrade of a machine is; the ID is the machine's UUID. */
export const MachineUpgradeStatus = defineResource({
  type: "MachineUpgradeStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineUpgradeStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineUpgradeStatus",
    printColumns: [
      { name: "Schematic ID", jsonPath: "{.schematicid}" },
      { name: "Talos Version", jsonPath: "{.talosversion}" },
      { name: "Phase", jsonPath: "{.phase}" },
      { name: "Status", jsonPath: "{.status}" },
      { name: "Error", jsonPath: "{.error}" },
    ],
  },
});
