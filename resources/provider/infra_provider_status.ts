// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraProviderStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraProviderStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** What a provider says of itself: name, icon, schema; the ID is the provider's. */
export const InfraProviderStatus = defineResource({
  type: "InfraProviderStatuses.omni.sidero.dev",
  namespace: "infra-provider",
  schema: InfraProviderStatusSpecSchema,
  access: writable(),
  display: {
    displayType: "InfraProviderStatus",
    printColumns: [{ name: "Name", jsonPath: "{.name}" }, {
      name: "Description",
      jsonPath: "{.description}",
    }, { name: "Version", jsonPath: "{.version}" }],
  },
});
