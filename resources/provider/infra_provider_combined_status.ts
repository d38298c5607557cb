// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraProviderCombinedStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraProviderCombinedStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What a provider reports of itself, with its health; the ID is the provider's. */
export const InfraProviderCombinedStatus = defineResource({
  type: "InfraProviderCombinedStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: InfraProviderCombinedStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "InfraProviderCombinedStatus",
    printColumns: [
      { name: "Name", jsonPath: "{.name}" },
      { name: "Description", jsonPath: "{.description}" },
      { name: "Version", jsonPath: "{.version}" },
      { name: "Connected", jsonPath: "{.health.connected}" },
    ],
  },
  ephemeral: true,
});
