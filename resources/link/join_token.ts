// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `JoinToken`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { JoinTokenSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A secret with which machines join; the ID is the secret itself. */
export const JoinToken = defineResource({
  type: "JoinTokens.omni.sidero.dev",
  namespace: "default",
  schema: JoinTokenSpecSchema,
  access: "hidden",
});
