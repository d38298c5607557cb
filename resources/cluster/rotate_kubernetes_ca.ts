// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `RotateKubernetesCA`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { RotateKubernetesCASpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Asks for a new Kubernetes certificate authority; the ID is the cluster's name. */
export const RotateKubernetesCA = defineResource({
  type: "RotateKubernetesCAs.omni.sidero.dev",
  namespace: "default",
  schema: RotateKubernetesCASpecSchema,
  access: writable(),
});
