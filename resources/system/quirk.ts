// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Quirk`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { QuirksSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What depends on a version; the ID is the version. */
export const Quirk = defineResource({
  type: "Quirks.omni.sidero.dev",
  namespace: "virtual",
  schema: QuirksSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
