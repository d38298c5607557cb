// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Opens the ports that face the world: provision for machines, the API for clients.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { codeOf } from "../base/errors.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { createStateService } from "../cosi/state/service.ts";
import { secureRandom } from "../link/addresses.ts";
import { provisionService } from "../link/provision.ts";
import { wireguardOverGrpcService } from "../link/wireguard_over_grpc.ts";
import { LABEL_VIRTUAL_ENDPOINT } from "../resources/labels.ts";
import { Link } from "../resources/link/link.ts";
import { listResources } from "./typed_state.ts";
import { CATALOGUE } from "../resources/catalogue.ts";
import type { Decompress } from "../resources/yaml_spec.ts";
import { createRpcServer } from "../rpc/server.ts";
import { createContentChecks } from "./api/content_checks.ts";
import { describeExposure } from "./api/exposure.ts";
import { createHttpRoutes } from "./api/http.ts";
import { createManagementServices, schematicHandlers } from "./api/management.ts";
import { logHandlers } from "./api/machine_logs.ts";
import { createPolicy } from "./api/policy.ts";
import { createSchematicUploader } from "./api/schematics.ts";
import { createYamlSpecOf } from "./api/yaml.ts";
import { type ApiPort, listenConfigured } from "./api_port.ts";
import { formatHostPort } from "./config/address.ts";
import { closeRpc, type Context, inBackground } from "./context.ts";
import { createJoinPort } from "./join.ts";
import { createJoinRefusals } from "./join_refusals.ts";
import type { MachineChannel } from "./machine_channel.ts";
import { admissionMetrics } from "./metrics.ts";
import type { ServerMaterial } from "./seed.ts";

/** Opens the provision port and returns its number. */
export function openProvision(
  context: Context,
  state: StateCore,
  material: ServerMaterial,
  { monitor, tunnel }: MachineChannel,
): number {
  const { config, log, observer, cleanup, registry } = context;
  const port = createJoinPort({
    state,
    monitor,
    rules: { reclaimAfterMs: config.nodeTokens.reclaimAfter, strict: config.nodeTokens.strict },
    serverPublicKey: material.publicKey,
    serverEndpoints: config.wireguardEndpoints.map(formatHostPort),
    metrics: admissionMetrics(registry),
    refusals: createJoinRefusals(state, systemClock),
    clock: systemClock,
    random: secureRandom,
    log,
  });
  const server = createRpcServer({
    services: [
      provisionService(port),
      wireguardOverGrpcService({
        packets: tunnel.packets,
        isAllowed: (endpoint) =>
          listResources(state, Link, { [LABEL_VIRTUAL_ENDPOINT]: endpoint }).length > 0,
      }),
    ],
    log,
    observer,
  });
  const { host: hostname, port: wanted } = config.siderolink.bindAddress;
  const listener = listenConfigured({ hostname, port: wanted, log }, config.siderolink.tls);
  inBackground(context, server.serve(listener));
  cleanup.defer(() => closeRpc(server, listener));
  return listener.port;
}

/** Serves the API on its port. */
export async function serveApi(
  context: Context,
  apiPort: ApiPort,
  state: StateCore,
  { logs }: Pick<MachineChannel, "logs">,
): Promise<void> {
  const { config, log, observer, decompressor, registry } = context;
  const { note, decompress } = decompressor;
  const policy = createPolicy({
    types: CATALOGUE,
    peek: (ref) => state.peek(ref),
    checkReferences: createContentChecks(state, decompressor),
  });
  const declared = new Set(CATALOGUE.map(({ type }) => type));
  const service = createStateService(state, {
    policy,
    yamlSpecOf: createYamlSpecOf(CATALOGUE, readable(decompress)),
    isDeclared: (type) => declared.has(type),
  });
  const uploader = createSchematicUploader({ baseUrl: config.factoryUrls.base });
  for (const reason of describeExposure(config, CATALOGUE)) log.warn("api is public", { reason });
  const server = createRpcServer({
    services: [
      service,
      ...createManagementServices({
        ...schematicHandlers(uploader),
        ...logHandlers(logs),
      }),
    ],
    http: createHttpRoutes({
      registry,
      readiness: () => ({ problems: [], notes: note === undefined ? [] : [note] }),
    }),
    log,
    observer,
  });
  await apiPort.handTo(server);
}

/** What cannot be read shows as empty: a reader of other resources must not fail for one. */
function readable(decompress: (bytes: Uint8Array) => Uint8Array): Decompress {
  return (bytes) => {
    try {
      return decompress(bytes);
    } catch (error) {
      if (codeOf(error) === "invalidArgument") return undefined;
      throw error;
    }
  };
}
