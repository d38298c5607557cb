// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Member`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MemberSpecSchema } from "../../proto/gen/talos/resource/cluster_pb.ts";

/** A member of the machine's cluster as the machine sees it. */
export const TalosMember = defineResource({
  type: "Members.cluster.talos.dev",
  namespace: "talos-mirror",
  schema: MemberSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Hostname", jsonPath: "{.hostname}" },
      { name: "Machine Type", jsonPath: "{.machineType}" },
      { name: "OS", jsonPath: "{.operatingSystem}" },
      { name: "Addresses", jsonPath: "{.addresses}" },
    ],
  },
});
