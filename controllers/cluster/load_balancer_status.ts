// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs the balancer of every cluster that has a control plane within reach.
 *
 * @module
 */

import type { BalancerEntry, BalancerHealth } from "../../balancer/balancer.ts";
import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { ClusterStatus } from "../../resources/cluster/cluster_status.ts";
import { LoadBalancerConfig } from "../../resources/cluster/load_balancer_config.ts";
import { LoadBalancerStatus } from "../../resources/cluster/load_balancer_status.ts";

/** Opens and closes balancers. */
export interface BalancerPort {
  put(id: string, entry: BalancerEntry): void;
  remove(id: string): void;
  health(id: string): BalancerHealth;
}

/** What the balancer depends on besides its configuration. */
export interface LoadBalancerFacts {
  readonly hasConnectedControlPlanes: boolean;
  readonly health: BalancerHealth;
}

/** What the balancer must do. */
export type BalancerAction =
  | { readonly kind: "put"; readonly entry: BalancerEntry }
  | { readonly kind: "remove" };

/** How often the health of a balancer is looked at, in ms. */
const LOOK_AGAIN_MS = 10_000;

/** While a balancer is not healthy yet its cluster waits for it: looked at more often, in ms. */
const LOOK_AGAIN_SOON_MS = 500;

/** Creates the controller; the balancer closes before its configuration may be destroyed. */
export function loadBalancerStatusController(
  { balancers }: { readonly balancers: BalancerPort },
): Controller {
  return defineController({
    name: "cluster.LoadBalancerStatusController",
    primary: LoadBalancerConfig,
    mapped: [sameId(ClusterStatus)],
    output: LoadBalancerStatus,
    gather: async ({ metadata: { id } }, reader: Reader<typeof ClusterStatus>) => ({
      hasConnectedControlPlanes:
        (await reader.find(ClusterStatus, id))?.spec.hasConnectedControlPlanes ?? false,
      health: balancers.health(id),
    }),
    plan: planLoadBalancerStatus,
    act: ({ metadata: { id } }, action) => {
      if (action.kind === "put") balancers.put(id, action.entry);
      else balancers.remove(id);
      return Promise.resolve();
    },
    finalize: ({ metadata: { id } }) => Promise.resolve(balancers.remove(id)),
  });
}

/** Decides whether the balancer is open and tells how it fares. */
export function planLoadBalancerStatus(
  { spec }: Resource<typeof LoadBalancerConfig>,
  { hasConnectedControlPlanes, health }: LoadBalancerFacts,
): Plan<typeof LoadBalancerStatus, BalancerAction> {
  if (!hasConnectedControlPlanes) {
    return {
      kind: "write",
      action: { kind: "remove" },
      spec: { stopped: true, healthy: false },
      waiting: "no control plane is connected",
    };
  }
  return {
    kind: "write",
    action: { kind: "put", entry: { port: Number(spec.bindPort), upstreams: spec.endpoints } },
    spec: { stopped: health.stopped, healthy: health.healthy },
    retryAfterMs: health.healthy ? LOOK_AGAIN_MS : LOOK_AGAIN_SOON_MS,
  };
}
