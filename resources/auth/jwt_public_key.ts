// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `JWTPublicKey`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { JWTPublicKeySpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A public key that signed tokens are checked with. */
export const JWTPublicKey = defineResource({
  type: "JWTPublicKeys.system.sidero.dev",
  namespace: "oidc",
  schema: JWTPublicKeySpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Expiration", jsonPath: "{.expiration}" }],
  },
});
