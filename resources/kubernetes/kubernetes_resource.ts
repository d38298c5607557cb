// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesResource`. @module */

import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { defineResource } from "../../cosi/resource.ts";

/** A wrapper for objects of Kubernetes; it has no message and cannot be served. */
export const KubernetesResource = defineResource({
  type: "KubernetesResources.omni.sidero.dev",
  namespace: "default",
  schema: EmptySchema,
  access: "hidden",
});
