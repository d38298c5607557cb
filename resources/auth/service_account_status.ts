// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ServiceAccountStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ServiceAccountStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** An account of a program with its keys; the ID is the identity's. */
export const ServiceAccountStatus = defineResource({
  type: "ServiceAccountStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: ServiceAccountStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ServiceAccountStatus",
  },
  ephemeral: true,
});
