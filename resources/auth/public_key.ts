// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `PublicKey`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PublicKeySpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A key with which somebody signs requests. */
export const PublicKey = defineResource({
  type: "PublicKeys.omni.sidero.dev",
  namespace: "default",
  schema: PublicKeySpecSchema,
  access: "readOnly",
});
