// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `SAMLAssertion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SAMLAssertionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** An assertion that an identity provider made. */
export const SAMLAssertion = defineResource({
  type: "SAMLAssertions.omni.sidero.dev",
  namespace: "default",
  schema: SAMLAssertionSpecSchema,
  access: "readOnly",
});
