// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineStatusSnapshot`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineStatusSnapshotSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The status event that a machine sent last; the ID is the machine's UUID. */
export const MachineStatusSnapshot = defineResource({
  type: "MachineStatusSnapshots.omni.sidero.dev",
  namespace: "default",
  schema: MachineStatusSnapshotSpecSchema,
  access: "readOnly",
});
