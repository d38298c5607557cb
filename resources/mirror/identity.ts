// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Identity`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { IdentitySpecSchema } from "../../proto/gen/talos/resource/cluster_pb.ts";

/** The identity of the machine in the discovery service; the ID ends in `local`. */
export const TalosIdentity = defineResource({
  type: "Identities.cluster.talos.dev",
  namespace: "talos-mirror",
  schema: IdentitySpecSchema,
  access: "readOnly",
  display: {
    displayType: "Identity",
    printColumns: [{ name: "ID", jsonPath: "{.nodeId}" }],
  },
});
