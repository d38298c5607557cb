// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `SiderolinkAPIConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SiderolinkAPIConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Endpoints and ports that machines use; one resource. */
export const SiderolinkAPIConfig = defineResource({
  type: "SiderolinkAPIConfigs.omni.sidero.dev",
  namespace: "default",
  schema: SiderolinkAPIConfigSpecSchema,
  access: "readOnly",
});
