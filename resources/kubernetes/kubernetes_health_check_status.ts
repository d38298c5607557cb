// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesHealthCheckStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesHealthCheckStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How the last run of a health check ended. */
export const KubernetesHealthCheckStatus = defineResource({
  type: "KubernetesHealthCheckStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: KubernetesHealthCheckStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "KubernetesHealthCheckStatus",
    printColumns: [{ name: "State", jsonPath: "{.state}" }, {
      name: "Error",
      jsonPath: "{.error}",
    }],
  },
  ephemeral: true,
});
