// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `RotateTalosCA`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { RotateTalosCASpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Asks for a new Talos certificate authority; the ID is the cluster's name. */
export const RotateTalosCA = defineResource({
  type: "RotateTalosCAs.omni.sidero.dev",
  namespace: "default",
  schema: RotateTalosCASpecSchema,
  access: writable(),
});
