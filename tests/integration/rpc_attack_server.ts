// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The server that `rpc_attack_test.ts` attacks. It prints its port, and tells its memory after a
 * collection at `/memory`.
 *
 * @module
 */

import { createLogger } from "../../base/log.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { rawService } from "../../rpc/service.ts";
import { listenTcp } from "../../rpc/tcp.ts";

const LARGE = new Uint8Array(256 * 1024);

const service = rawService("test.Attack", {
  Echo: { unary: (request) => request },
  Large: { unary: () => LARGE },
  Take: {
    clientStream: async (requests) => {
      for await (const _ of requests);
      return new Uint8Array(0);
    },
  },
});

function collect(): void {
  // Only there when the runtime is started with its flag.
  (globalThis as { gc?: () => void }).gc?.();
}

if (import.meta.main) {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const server = createRpcServer({
    services: [service],
    log: createLogger(),
    limits: { prefaceTimeoutMs: 1500, maxConnections: 10_000, maxConnectionsPerPeer: 10_000 },
    http: {
      "/memory": () => {
        collect();
        const { rss, heapUsed, external } = Deno.memoryUsage();
        const body = JSON.stringify({ rss, used: heapUsed + external });
        return { status: 200, contentType: "application/json", body };
      },
    },
  });
  console.log(listener.port);
  await server.serve(listener);
}
