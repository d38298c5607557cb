// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Info`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfoSpecSchema } from "../../proto/gen/talos/resource/cluster_pb.ts";

/** The cluster that the machine says it belongs to; the ID ends in `current`. */
export const TalosInfo = defineResource({
  type: "Infos.cluster.talos.dev",
  namespace: "talos-mirror",
  schema: InfoSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Cluster ID", jsonPath: "{.clusterId}" }, {
      name: "Cluster Name",
      jsonPath: "{.clusterName}",
    }],
  },
});
