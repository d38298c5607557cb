// SPDX-License-Identifier: AGPL-3.0-or-later

/** Gives every cluster an identity that outlives its name. @module */

import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterUUID } from "../../resources/cluster/cluster_uuid.ts";
import { LABEL_CLUSTER_UUID } from "../../resources/labels.ts";

/** Creates the controller. */
export function clusterUuidController(
  { newUuid }: { readonly newUuid: () => string },
): Controller {
  return defineController({
    name: "cluster.ClusterUuidController",
    primary: Cluster,
    mapped: [sameId(ClusterUUID)],
    output: ClusterUUID,
    gather: async ({ metadata: { id } }, reader: Reader<typeof ClusterUUID>) => ({
      // A new identity is drawn where randomness has its place, and kept from then on.
      uuid: (await reader.find(ClusterUUID, id))?.spec.uuid ?? newUuid(),
    }),
    plan: planClusterUuid,
  });
}

/** Keeps the identity that there is. */
export function planClusterUuid(
  _cluster: Resource<typeof Cluster>,
  { uuid }: { readonly uuid: string },
): Plan<typeof ClusterUUID> {
  return { kind: "write", spec: { uuid }, labels: { [LABEL_CLUSTER_UUID]: uuid } };
}
