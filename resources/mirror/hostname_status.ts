// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `HostnameStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { HostnameStatusSpecSchema } from "../../proto/gen/talos/resource/network_pb.ts";

/** The host name of the machine; the ID ends in `hostname`. */
export const TalosHostnameStatus = defineResource({
  type: "HostnameStatuses.net.talos.dev",
  namespace: "talos-mirror",
  schema: HostnameStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "HostnameStatus",
    printColumns: [{ name: "Hostname", jsonPath: "{.hostname}" }, {
      name: "Domainname",
      jsonPath: "{.domainname}",
    }],
  },
});
