// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Cluster`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateCluster } from "./cluster_rules.ts";

/** A Kubernetes cluster as its user wants it; the ID is the cluster's name. */
export const Cluster = defineResource({
  type: "Clusters.omni.sidero.dev",
  namespace: "default",
  schema: ClusterSpecSchema,
  access: writable(validateCluster),
  display: {
    printColumns: [{ name: "Talos Version", jsonPath: "{.talosversion}" }, {
      name: "Kubernetes Version",
      jsonPath: "{.kubernetesversion}",
    }],
  },
});
