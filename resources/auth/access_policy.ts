// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `AccessPolicy`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { AccessPolicySpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Who may do what, by cluster; one resource. */
export const AccessPolicy = defineResource({
  type: "AccessPolicies.omni.sidero.dev",
  namespace: "default",
  schema: AccessPolicySpecSchema,
  access: writable(),
  display: {
    displayType: "AccessPolicy",
  },
});
