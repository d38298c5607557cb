// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `PendingMachine`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SiderolinkSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A machine that is not admitted yet; the ID is its public key. */
export const PendingMachine = defineResource({
  type: "PendingMachines.omni.sidero.dev",
  namespace: "ephemeral",
  schema: SiderolinkSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
