// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `NodeUniqueToken`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NodeUniqueTokenSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * The secret by which a machine proves that it is the same machine; the ID is the machine's UUID.
 */
export const NodeUniqueToken = defineResource({
  type: "NodeUniqueTokens.omni.sidero.dev",
  namespace: "default",
  schema: NodeUniqueTokenSpecSchema,
  access: "hidden",
});
