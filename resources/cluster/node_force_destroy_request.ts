// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `NodeForceDestroyRequest`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NodeForceDestroyRequestSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateNodeForceDestroyRequest } from "../machine/machine_rules.ts";

/** Asks to give a machine up without waiting for it; the ID is the machine's UUID. */
export const NodeForceDestroyRequest = defineResource({
  type: "NodeForceDestroyRequests.omni.sidero.dev",
  namespace: "default",
  schema: NodeForceDestroyRequestSpecSchema,
  access: writable(validateNodeForceDestroyRequest),
});
