// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineIdentity`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineIdentitySpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * Who a machine is inside its cluster: node name, addresses, etcd member; the ID is the machine's UUID.
 */
export const ClusterMachineIdentity = defineResource({
  type: "ClusterMachineIdentities.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineIdentitySpecSchema,
  access: "readOnly",
  display: {
    displayType: "ClusterMachineIdentity",
    printColumns: [
      { name: "Node Identity", jsonPath: "{.nodeidentity}" },
      { name: "Etcd Member ID", jsonPath: "{.etcdmemberid}" },
      { name: "Node Name", jsonPath: "{.nodename}" },
      { name: "Node IPs", jsonPath: "{.nodeips}" },
      { name: "Discovery Service Endpoint", jsonPath: "{.discoveryserviceendpoint}" },
    ],
  },
});
