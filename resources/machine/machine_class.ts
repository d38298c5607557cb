// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineClass`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineClassSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateMachineClass } from "./machine_rules.ts";

/** Selects machines by their labels. */
export const MachineClass = defineResource({
  type: "MachineClasses.omni.sidero.dev",
  namespace: "default",
  schema: MachineClassSpecSchema,
  access: writable(validateMachineClass),
  display: {
    displayType: "MachineClass",
  },
});
