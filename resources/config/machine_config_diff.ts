// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineConfigDiff`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineConfigDiffSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A past change of a machine's configuration, without secrets. */
export const MachineConfigDiff = defineResource({
  type: "MachineConfigDiffs.omni.sidero.dev",
  namespace: "default",
  schema: MachineConfigDiffSpecSchema,
  access: "readOnly",
});
