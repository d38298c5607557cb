// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineSet`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineSetSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateMachineSet } from "./machine_set_rules.ts";

/** Machines of one role in a cluster: the control plane or a group of workers. */
export const MachineSet = defineResource({
  type: "MachineSets.omni.sidero.dev",
  namespace: "default",
  schema: MachineSetSpecSchema,
  access: writable(validateMachineSet),
});
