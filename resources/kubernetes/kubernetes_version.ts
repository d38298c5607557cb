// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesVersion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesVersionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A version of Kubernetes that clusters may have; the ID is the version. */
export const KubernetesVersion = defineResource({
  type: "KubernetesVersions.omni.sidero.dev",
  namespace: "default",
  schema: KubernetesVersionSpecSchema,
  access: "readOnly",
});
