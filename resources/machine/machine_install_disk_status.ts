// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineInstallDiskStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineInstallDiskStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The disk that the system goes on; the ID is the machine's UUID. */
export const MachineInstallDiskStatus = defineResource({
  type: "MachineInstallDiskStatuses.omni.sidero.dev",
  namespace: "default",
  schema: MachineInstallDiskStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "MachineInstallDiskStatus",
    printColumns: [{ name: "Disk", jsonPath: "{.disk}" }, {
      name: "Message",
      jsonPath: "{.message}",
    }],
  },
});
