// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ConnectionParam`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ConnectionParamsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Kernel arguments and endpoints with which a machine joins; one resource. */
export const ConnectionParam = defineResource({
  type: "ConnectionParams.omni.sidero.dev",
  namespace: "default",
  schema: ConnectionParamsSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "JoinToken", jsonPath: "{.jointoken}" },
      { name: "API", jsonPath: "{.apiendpoint}" },
      { name: "Wireguard", jsonPath: "{.wireguardendpoint}" },
      { name: "GRPC Tunnel", jsonPath: "{.usegrpctunnel}" },
    ],
  },
});
