// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `GRPCTunnelConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { GRPCTunnelConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Whether a machine's tunnel goes over gRPC; the ID is the machine's UUID. */
export const GRPCTunnelConfig = defineResource({
  type: "GRPCTunnelConfigs.omni.sidero.dev",
  namespace: "default",
  schema: GRPCTunnelConfigSpecSchema,
  access: writable(),
});
