// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `JoinTokenUsage`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { JoinTokenUsageSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The token with which a machine joined; the ID is the machine's UUID. */
export const JoinTokenUsage = defineResource({
  type: "JoinTokenUsages.omni.sidero.dev",
  namespace: "default",
  schema: JoinTokenUsageSpecSchema,
  access: "hidden",
});
