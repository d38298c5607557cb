// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Kubeconfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubeconfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Access to a cluster's Kubernetes for the server itself; the ID is the cluster's name. */
export const Kubeconfig = defineResource({
  type: "Kubeconfigs.omni.sidero.dev",
  namespace: "default",
  schema: KubeconfigSpecSchema,
  access: "hidden",
});
