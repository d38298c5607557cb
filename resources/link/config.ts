// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Config`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SiderolinkConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The identity of the server in the tunnel with its private key; one resource. */
export const Config = defineResource({
  type: "Configs.omni.sidero.dev",
  namespace: "default",
  schema: SiderolinkConfigSpecSchema,
  access: "hidden",
  display: {
    sensitive: true,
  },
});
