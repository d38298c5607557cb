// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { CodedError } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import type { Telemetry } from "../base/telemetry.ts";
import { clientSpans, serverSpans } from "./call_tracing.ts";
import { createChannel } from "./channel.ts";
import { createRpcServer } from "./server.ts";
import { rawService } from "./service.ts";
import { dialTcp, listenTcp } from "./tcp.ts";

/** Notes spans as they end: `<kind> <name> <status code> <error>`. */
function notingTelemetry(spans: string[]): Telemetry {
  return {
    startSpan(name, { kind }) {
      let [code, error] = ["", ""];
      return {
        setAttribute: (key, value) => void (code += key === "rpc.grpc.status_code" ? value : ""),
        setStatus: () => void (error = " error"),
        end: () => void spans.push(`${kind} ${name} ${code}${error}`),
      };
    },
    within: (_span, work) => work(),
  };
}

const SERVICE = rawService("test.Traced", {
  Echo: { unary: (request) => request },
  Missing: { unary: () => Promise.reject(new CodedError("notFound", "not there")) },
  Broken: {
    unary: () => {
      throw new Error("a secret");
    },
  },
  Count: {
    async *serverStream(request) {
      yield request;
      yield request;
    },
  },
});

Deno.test("every call has one span on either side, however it ends", async () => {
  const [atServer, atClient]: [string[], string[]] = [[], []];
  const server = createRpcServer({
    services: [SERVICE],
    log: silentLogger,
    observer: { beginSpan: serverSpans(notingTelemetry(atServer)) },
  });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = server.serve(listener);
  const { port } = listener;
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "test",
    beginSpan: clientSpans(notingTelemetry(atClient), { address: "127.0.0.1", port }),
  });
  const request = Uint8Array.of(1);
  await channel.rawCall("/test.Traced/Echo", request);
  await rejects(channel.rawCall("/test.Traced/Missing", request));
  await rejects(channel.rawCall("/test.Traced/Broken", request));
  const stream = channel.rawStream("/test.Traced/Count");
  await stream.send(request);
  stream.end();
  let count = 0;
  for await (const _ of stream.messages) count++;
  strictEqual(count, 2);
  channel.close();
  await rejects(channel.rawCall("/test.Traced/Echo", request), { code: "cancelled" });
  server.close();
  listener.close();
  await serving;
  deepStrictEqual(atServer, [
    "1 test.Traced/Echo 0",
    "1 test.Traced/Missing 5",
    "1 test.Traced/Broken 13 error",
    "1 test.Traced/Count 0",
  ]);
  deepStrictEqual(atClient, [
    "2 test.Traced/Echo 0",
    "2 test.Traced/Missing 5 error",
    "2 test.Traced/Broken 13 error",
    "2 test.Traced/Count 0",
    "2 test.Traced/Echo 1 error",
  ]);
});

Deno.test("without telemetry nothing begins a span", () => {
  strictEqual(serverSpans(undefined), undefined);
  strictEqual(clientSpans(undefined, { address: "127.0.0.1", port: 1 }), undefined);
});
