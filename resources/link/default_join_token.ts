// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `DefaultJoinToken`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { DefaultJoinTokenSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Names the join token that is given out by default; one resource. */
export const DefaultJoinToken = defineResource({
  type: "DefaultJoinTokens.omni.sidero.dev",
  namespace: "default",
  schema: DefaultJoinTokenSpecSchema,
  access: "hidden",
});
