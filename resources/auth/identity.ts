// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Identity`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { IdentitySpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A name under which somebody logs in; the ID is that name. */
export const Identity = defineResource({
  type: "Identities.omni.sidero.dev",
  namespace: "default",
  schema: IdentitySpecSchema,
  access: "readOnly",
  display: {
    displayType: "Identity",
  },
});
