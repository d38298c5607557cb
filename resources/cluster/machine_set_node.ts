// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineSetNode`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineSetNodeSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateMachineSetNode } from "./machine_set_rules.ts";

/** Binds a machine to a machine set; the ID is the machine's UUID. */
export const MachineSetNode = defineResource({
  type: "MachineSetNodes.omni.sidero.dev",
  namespace: "default",
  schema: MachineSetNodeSpecSchema,
  access: writable(validateMachineSetNode),
});
