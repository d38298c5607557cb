// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Nodename`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NodenameSpecSchema } from "../../proto/gen/talos/resource/k8s_pb.ts";

/** The machine's node name in Kubernetes; the ID ends in `nodename`. */
export const TalosNodename = defineResource({
  type: "Nodenames.kubernetes.talos.dev",
  namespace: "talos-mirror",
  schema: NodenameSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Nodename", jsonPath: "{.nodename}" }],
  },
});
