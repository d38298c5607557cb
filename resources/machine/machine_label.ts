// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineLabel`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineLabelsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Labels that the user gave to a machine; the ID is the machine's UUID. */
export const MachineLabel = defineResource({
  type: "MachineLabels.omni.sidero.dev",
  namespace: "default",
  schema: MachineLabelsSpecSchema,
  access: writable(),
});
