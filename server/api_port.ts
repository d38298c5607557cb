// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The API port from the first moment on: probes are answered while the server starts or stands by,
 * and clients are told to try again.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { State } from "../proto/gen/cosi/resource_pb.ts";
import { createRpcServer, type RpcServer } from "../rpc/server.ts";
import { rawService } from "../rpc/service.ts";
import type { StreamListener } from "../rpc/stream.ts";
import { listenTcp } from "../rpc/tcp.ts";
import { listenTls } from "../rpc/tls_listener.ts";
import { createHttpRoutes } from "./api/http.ts";
import type { Config } from "./config/parse_config.ts";
import { closeRpc, type Context, inBackground } from "./context.ts";

/** The port, in the hands of one server at a time. */
export interface ApiPort {
  readonly port: number;
  /** Says why the server does not serve yet. */
  setReason(reason: string): void;
  /** Gives the port to the server that serves from here on. */
  handTo(server: RpcServer): Promise<void>;
}

/** Opens the port; it is closed with the server that holds it last. */
export function openApiPort(context: Context): ApiPort {
  const { config, log, cleanup } = context;
  const { host: hostname, port } = config.api.bindAddress;
  const listener = listenConfigured({ hostname, port, log }, config.api.tls);
  let reason = "starting";
  let current = createWaitingServer(context, () => reason);
  inBackground(context, acceptFor(listener, () => current));
  cleanup.defer(() => closeRpc(current, listener));
  return {
    port: listener.port,
    setReason: (text) => {
      reason = text;
    },
    handTo: async (server) => {
      const before = current;
      current = server;
      // A connection that was opened for a probe is opened again by the next one.
      await before.drain(0);
      before.close();
    },
  };
}

async function acceptFor(listener: StreamListener, current: () => RpcServer): Promise<void> {
  for await (const incoming of listener) void current().handle(incoming);
}

function createWaitingServer(
  { registry, log, observer }: Context,
  reason: () => string,
): RpcServer {
  const refuse = (): never => {
    throw new CodedError("unavailable", `Cannot serve yet: ${reason()}`);
  };
  const methods = Object.fromEntries(
    State.methods.map(({ name, methodKind }) => [
      name,
      methodKind === "unary" ? { unary: refuse } : { serverStream: refuse },
    ]),
  );
  return createRpcServer({
    services: [rawService(State.typeName, methods)],
    http: createHttpRoutes({
      registry,
      readiness: () => ({ problems: [reason()], notes: [] }),
    }),
    log,
    observer,
  });
}

/** Listens as the configuration says, with TLS where it names a certificate. */
export function listenConfigured(
  at: { readonly hostname: string; readonly port: number; readonly log: Logger },
  { certificate, key }: Config["api"]["tls"],
): StreamListener {
  if (certificate === undefined || key === undefined) return listenTcp(at);
  return listenTls({ ...at, certFile: certificate, keyFile: key });
}
