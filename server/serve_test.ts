// SPDX-License-Identifier: AGPL-3.0-or-later

import { rejects } from "node:assert/strict";
import { silentLogger } from "../base/log.ts";
import { listenTcp } from "../rpc/tcp.ts";
import { parseConfig } from "./config/parse_config.ts";
import { startServer } from "./serve.ts";

Deno.test("startServer() leaves nothing running when a port is taken", async () => {
  const taken = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const config = parseConfig(JSON.stringify({
    machineApiAdvertisedUrl: "grpc://127.0.0.1:8090",
    wireguard: { enabled: false, advertisedEndpoint: "127.0.0.1:50180" },
    api: { bindAddress: "127.0.0.1:0" },
    siderolink: { bindAddress: `127.0.0.1:${taken.port}`, allowLocalAdvertised: true },
    state: { kind: "memory" },
  }));
  try {
    // What would go on, a timer or a loop, is found by the sanitizers.
    await rejects(startServer(config, { log: silentLogger }));
  } finally {
    taken.close();
  }
});
