// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineStatusLink`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineStatusLinkSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The state of a machine with its traffic counters; the ID is the machine's UUID. */
export const MachineStatusLink = defineResource({
  type: "MachineStatusLinks.omni.sidero.dev",
  namespace: "metrics",
  schema: MachineStatusLinkSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Bytes Received", jsonPath: "{.siderolinkcounter.bytesreceived}" }, {
      name: "Bytes Sent",
      jsonPath: "{.siderolinkcounter.bytessent}",
    }, { name: "Last Alive", jsonPath: "{.siderolinkcounter.lastalive}" }],
  },
  ephemeral: true,
});
