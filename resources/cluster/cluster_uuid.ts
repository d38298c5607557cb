// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterUUID`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterUUIDSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The identity of a cluster that outlives its name; the ID is the cluster's name. */
export const ClusterUUID = defineResource({
  type: "ClusterUUIDs.omni.sidero.dev",
  namespace: "default",
  schema: ClusterUUIDSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "UUID", jsonPath: "{.uuid}" }],
  },
});
