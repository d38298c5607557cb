// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { dialTcp, listenTcp } from "./tcp.ts";

Deno.test("streams of TCP may be closed twice, on both sides", async () => {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const dialled = await dialTcp({ hostname: "127.0.0.1", port: listener.port });
  for await (const { stream } of listener) {
    stream.close();
    stream.close();
    listener.close();
  }
  strictEqual(await dialled.read(new Uint8Array(1)), null);
  dialled.close();
  dialled.close();
});
