// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraProvider`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraProviderSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A provider that may serve machine requests; the ID is the provider's. */
export const InfraProvider = defineResource({
  type: "InfraProviders.omni.sidero.dev",
  namespace: "infra-provider",
  schema: InfraProviderSpecSchema,
  access: "readOnly",
});
