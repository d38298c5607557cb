// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesManifestGroup`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesManifestGroupSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Manifests that a cluster shall have. */
export const KubernetesManifestGroup = defineResource({
  type: "KubernetesManifestGroups.omni.sidero.dev",
  namespace: "default",
  schema: KubernetesManifestGroupSpecSchema,
  access: writable(),
});
