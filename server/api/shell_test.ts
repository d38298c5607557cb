// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { Registry } from "prom-client";
import { createLogger, silentLogger } from "../../base/log.ts";
import { createChannel } from "../../rpc/client.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { rawService } from "../../rpc/service.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { createHttpRoutes } from "./http.ts";
import { createCallObserver } from "./shell.ts";

const ECHO = rawService("test.Echo", {
  Echo: { unary: (request) => request },
  Break: {
    unary: () => {
      throw new Error("the secret of this handler");
    },
  },
});

Deno.test("createCallObserver() counts calls, and a broken handler ends only its own call", async () => {
  const registry = new Registry();
  const lines: string[] = [];
  const log = createLogger({ level: "debug", write: (line) => lines.push(line) });
  const observer = createCallObserver(registry, log);
  const http = createHttpRoutes({ registry, readiness: () => ({ problems: [], notes: ["note"] }) });
  const server = createRpcServer({ services: [ECHO], http, log: silentLogger, observer });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = server.serve(listener);
  const { port } = listener;
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "test",
  });
  try {
    await rejects(channel.rawCall("/test.Echo/Break", Uint8Array.of(1)), (error: Error) => {
      ok(!error.message.includes("secret"), error.message);
      return true;
    });
    const reply = await channel.rawCall("/test.Echo/Echo", Uint8Array.of(1, 2));
    deepStrictEqual([...reply], [1, 2]);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const echo = 'grpc_type="unary",grpc_service="test.Echo",grpc_method="Echo"';
    for (
      const line of [
        `grpc_server_started_total{${echo}} 1`,
        `grpc_server_handled_total{${echo},grpc_code="OK"} 1`,
        `grpc_server_msg_received_total{${echo}} 1`,
        `grpc_server_msg_sent_total{${echo}} 1`,
        `grpc_server_handling_seconds_count{${echo}} 1`,
        "batuta_grpc_panics_total 1",
      ]
    ) ok(metrics.includes(line), `${line} not in:\n${metrics}`);
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    strictEqual(ready.status, 200);
    strictEqual(await ready.text(), "ok\nnote\n");
    strictEqual(lines.filter((line) => line.includes("rpc call ended")).length, 2);
  } finally {
    channel.close();
    server.close();
    listener.close();
    await serving;
  }
});

Deno.test("createHttpRoutes() answers 503 with the problems while the server is not ready", async () => {
  const routes = createHttpRoutes({
    registry: new Registry(),
    readiness: () => ({ problems: ["the store is broken"], notes: [] }),
  });
  const reply = await routes["/readyz"]?.();
  deepStrictEqual([reply?.status, reply?.body], [503, "the store is broken\n"]);
});
