// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ProviderJoinConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ProviderJoinConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * The secret with which a provider signs the tokens of its machines; the ID is the provider's.
 */
export const ProviderJoinConfig = defineResource({
  type: "ProviderJoinConfigs.omni.sidero.dev",
  namespace: "infra-provider",
  schema: ProviderJoinConfigSpecSchema,
  access: "readOnly",
});
