// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ControlPlaneStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ControlPlaneStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Conditions of a control plane machine set: etcd, tunnel; the ID is the machine set's. */
export const ControlPlaneStatus = defineResource({
  type: "ControlPlaneStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ControlPlaneStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ControlPlaneStatus",
  },
});
