// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Starts the controllers over their adapters.
 *
 * @module
 */

import { createBalancers } from "../balancer/balancer.ts";
import { systemClock } from "../base/clock.ts";
import { controllerCatalogue } from "../controllers/catalogue.ts";
import { startRuntime } from "../cosi/runtime/runtime.ts";
import { createTracer } from "../cosi/runtime/tracing.ts";
import { secureRandom, SERVER_ADDRESS } from "../link/addresses.ts";
import { CATALOGUE } from "../resources/catalogue.ts";
import { Controller } from "../resources/system/controller.ts";
import {
  ControllerWait,
  LABEL_ITEM_ID,
  LABEL_ITEM_TYPE,
} from "../resources/system/controller_wait.ts";
import type { Context } from "./context.ts";
import type { MachineChannel } from "./machine_channel.ts";
import { assignmentMetrics, engineMetrics } from "./metrics.ts";
import { encodeToken } from "./seed_tokens.ts";
import type { WatchedState } from "./store_health.ts";
import { createTeardownPort } from "./teardown_port.ts";

/** Starts all controllers, and the removal of what users tore down. */
export function startControllers(
  context: Context,
  { state, backend }: WatchedState,
  { tunnel, talos, mirror }: MachineChannel,
): void {
  const { config, log, telemetry, decompressor, cleanup, registry, fail } = context;
  const clock = systemClock;
  const balancers = createBalancers({ net: tunnel.net, clock, log });
  cleanup.defer(() => balancers.close());
  const controllers = controllerCatalogue({
    clock,
    backend,
    peers: tunnel.peers,
    talos,
    mirror,
    sessions: mirror,
    balancers,
    balancerAddresses: {
      address: SERVER_ADDRESS,
      firstPort: config.loadBalancer.portRange.first,
      lastPort: config.loadBalancer.portRange.last,
    },
    installImages: {
      factoryHost: new URL(config.factoryUrls.base).host,
      template: config.imageFactory.installerImage,
    },
    teardown: createTeardownPort(state),
    newUuid: () => crypto.randomUUID(),
    onTokenAssigned: assignmentMetrics(registry),
    newToken: () => encodeToken(secureRandom(32)),
    patchText: ({ spec }) =>
      spec.compressedData.length === 0
        ? spec.data
        : new TextDecoder().decode(decompressor.decompress(spec.compressedData)),
  });
  const metrics = engineMetrics(registry);
  const runtime = startRuntime({
    state,
    controllers,
    shows: {
      controllers: Controller,
      waits: ControllerWait,
      itemTypeLabel: LABEL_ITEM_TYPE,
      itemIdLabel: LABEL_ITEM_ID,
    },
    destroys: CATALOGUE.filter(({ access }) => typeof access === "object"),
    logger: log,
    metrics,
    tracer: createTracer(telemetry),
    onFatal: fail,
  });
  cleanup.defer(() => runtime.stop());
}
