// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `CertRefreshTick`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { CertRefreshTickSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A sign to renew certificates. */
export const CertRefreshTick = defineResource({
  type: "CertRefreshTicks.system.sidero.dev",
  namespace: "ephemeral",
  schema: CertRefreshTickSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
