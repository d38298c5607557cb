// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Brings the server up and down: the one place where all parts meet.
 *
 * @module
 */

import type { Logger } from "../base/log.ts";
import { runtimeTelemetry } from "../base/telemetry.ts";
import { VERSION } from "../base/version.ts";
import { openState } from "../cosi/state/core.ts";
import { secureRandom } from "../link/addresses.ts";
import { CATALOGUE } from "../resources/catalogue.ts";
import { NAMESPACES } from "../resources/namespaces.ts";
import { publishDefinitions } from "./api/definitions.ts";
import { createCallObserver } from "./api/shell.ts";
import { openDecompressor } from "./compression/dictionary.ts";
import { type ApiPort, openApiPort } from "./api_port.ts";
import { formatHostPort } from "./config/address.ts";
import type { Config } from "./config/parse_config.ts";
import type { Context } from "./context.ts";
import { startMachineChannel } from "./machine_channel.ts";
import { createRegistry, stateMetrics } from "./metrics.ts";
import { openProvision, serveApi } from "./ports.ts";
import { seedState } from "./seed.ts";
import { startControllers } from "./start_controllers.ts";
import { openStore } from "./store.ts";
import { type WatchedState, watchStore } from "./store_health.ts";

/** A running server. */
export interface Server {
  readonly apiPort: number;
  readonly provisionPort: number;
  /** Rejects when a part fails that the server cannot go on without. */
  readonly failed: Promise<never>;
  /** Stops within a few seconds: calls that run are finished, nothing acknowledged is lost. */
  close(): Promise<void>;
}

/** Options of {@linkcode startServer}. */
export interface ServerOptions {
  readonly log: Logger;
  /** Gives up a start that takes long, as that of a server that stands by. */
  readonly signal?: AbortSignal;
}

/**
 * Starts everything that the configuration asks for.
 *
 * @throws CodedError naming what could not be started; nothing is left running then.
 */
export async function startServer(
  config: Config,
  { log, signal }: ServerOptions,
): Promise<Server> {
  await using cleanup = new AsyncDisposableStack();
  const stop = new AbortController();
  signal?.addEventListener("abort", () => stop.abort(), { once: true });
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const registry = createRegistry();
  const decompressor = openDecompressor(config.dictionaryPath);
  if (decompressor.note !== undefined) {
    log.warn("compressed fields need a dictionary", {
      reason: decompressor.note,
    });
  }
  const telemetry = runtimeTelemetry();
  const context: Context = {
    config,
    log,
    signal: stop.signal,
    registry,
    telemetry,
    observer: createCallObserver(registry, log, telemetry),
    decompressor,
    fail: (error) => stop.signal.aborted || failure.reject(error),
    cleanup,
  };
  try {
    const ports = await startParts(context);
    const running = cleanup.move();
    return {
      ...ports,
      failed: failure.promise,
      close: async () => {
        stop.abort();
        await running.disposeAsync();
      },
    };
  } catch (error) {
    // Loops in the background end by it; what they work on is released after that.
    stop.abort();
    throw error;
  }
}

async function startParts(
  context: Context,
): Promise<Pick<Server, "apiPort" | "provisionPort">> {
  const { config, log } = context;
  const apiPort = openApiPort(context);
  const { state, backend } = await startState(context, apiPort);
  const material = await seedState(state, config, { version: VERSION, random: secureRandom });
  const machines = await startMachineChannel(context, state, material);
  startControllers(context, { state, backend }, machines);
  const provisionPort = openProvision(context, state, material, machines);
  await serveApi(context, apiPort, state, machines);
  log.info("server started", {
    address: formatHostPort({ ...config.api.bindAddress, port: apiPort.port }),
  });
  return { apiPort: apiPort.port, provisionPort };
}

async function startState(context: Context, apiPort: ApiPort): Promise<WatchedState> {
  const { config, log, cleanup, registry, fail } = context;
  const ephemeral = new Set(CATALOGUE.filter((type) => type.ephemeral).map(({ type }) => type));
  const opened = await openStore(config, {
    ...context,
    onStandby: (active) =>
      apiPort.setReason(
        active === undefined ? "starting" : `standing by: "${active}" is the active server`,
      ),
  });
  const { store, backend } = watchStore(opened, config.state.kind);
  const state = await openState({
    store,
    isEphemeral: (type) => ephemeral.has(type),
    log,
    onFailure: fail,
  });
  cleanup.defer(() => state.close());
  stateMetrics(registry, state);
  await publishDefinitions(state, CATALOGUE, NAMESPACES);
  return { state, backend };
}
