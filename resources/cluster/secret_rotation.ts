// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `SecretRotation`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SecretRotationSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The state of a rotation with the secrets before it; the ID is the cluster's name. */
export const SecretRotation = defineResource({
  type: "SecretRotations.omni.sidero.dev",
  namespace: "default",
  schema: SecretRotationSpecSchema,
  access: "hidden",
});
