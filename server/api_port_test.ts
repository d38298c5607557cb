// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects } from "node:assert/strict";
import { Registry } from "prom-client";
import { silentLogger } from "../base/log.ts";
import { createChannel } from "../rpc/client.ts";
import { dialTcp } from "../rpc/tcp.ts";
import { openApiPort } from "./api_port.ts";
import { createDecompressor } from "./compression/dictionary.ts";
import { parseConfig } from "./config/parse_config.ts";

Deno.test("the API port counts the calls that it refuses while the server starts", async () => {
  const config = parseConfig(JSON.stringify({
    machineApiAdvertisedUrl: "grpc://batuta.example.org:8090",
    wireguard: { enabled: false, advertisedEndpoint: "batuta.example.org:50180" },
    api: { bindAddress: "127.0.0.1:0" },
    state: { kind: "memory" },
  }));
  const started: string[] = [];
  await using cleanup = new AsyncDisposableStack();
  const { port } = openApiPort({
    config,
    log: silentLogger,
    signal: new AbortController().signal,
    registry: new Registry(),
    telemetry: undefined,
    decompressor: createDecompressor(undefined),
    observer: {
      callStarted: ({ name }) => started.push(name),
      callEnded: () => {},
      messageReceived: () => {},
      messageSent: () => {},
      panicked: () => {},
    },
    fail: (error) => {
      throw error;
    },
    cleanup,
  });
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "test",
  });
  cleanup.defer(() => channel.close());
  await rejects(channel.rawCall("/cosi.resource.State/Get", new Uint8Array()), {
    code: "unavailable",
  });
  deepStrictEqual(started, ["Get"]);
});
