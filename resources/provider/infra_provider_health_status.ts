// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraProviderHealthStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraProviderHealthStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** The heartbeat of a provider; the ID is the provider's. */
export const InfraProviderHealthStatus = defineResource({
  type: "InfraProviderHealthStatuses.omni.sidero.dev",
  namespace: "infra-provider-ephemeral",
  schema: InfraProviderHealthStatusSpecSchema,
  access: writable(),
  display: {
    displayType: "InfraProviderHealthStatus",
    printColumns: [{ name: "Last Heartbeat Timestamp", jsonPath: "{.lastheartbeattimestamp}" }, {
      name: "Error",
      jsonPath: "{.error}",
    }],
  },
  ephemeral: true,
});
