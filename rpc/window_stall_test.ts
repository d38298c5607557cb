// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { silentLogger } from "../base/log.ts";
import { Flag, Frame, Http2Code, Setting } from "./frames.ts";
import { createRpcServer } from "./server.ts";
import { rawService } from "./service.ts";
import { listenTcp } from "./tcp.ts";
import { frame, message, RawPeer, request, settings, word } from "./test_peer.ts";

const LARGE = "/test.Window/Large";
const WAIT = "/test.Window/Wait";

const SERVICE = rawService("test.Window", {
  Large: { unary: () => new Uint8Array(100_000) },
  Wait: { unary: (bytes) => bytes },
});

const pong = frame(Frame.Ping, Flag.Ack, 0, new Uint8Array(8));

/** Runs a peer whose streams take anything, so that only the connection's window holds data back. */
async function withPeer(run: (peer: RawPeer) => Promise<void>): Promise<void> {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const limits = { windowStallMs: 200, keepaliveMs: 100, keepaliveTimeoutMs: 1000 };
  const server = createRpcServer({ services: [SERVICE], log: silentLogger, limits });
  const serving = server.serve(listener);
  const first = settings([Setting.InitialWindowSize, 0x7fff_ffff]);
  const peer = await RawPeer.dial(listener.port, first);
  try {
    await run(peer);
  } finally {
    peer.close();
    await server.drain(1000);
    await serving;
  }
}

Deno.test("windowStallMs ends a connection whose own window stays closed", async () => {
  await withPeer(async (peer) => {
    await peer.send(request(1, LARGE), message(1, new Uint8Array(0), true));
    let received = 0;
    const deadline = Date.now() + 5000;
    for (let found = await peer.next(); found !== undefined; found = await peer.next()) {
      if (found.type === Frame.Data) received += found.payload.length;
      // That the peer answers shows that it is alive, and excuses nothing.
      if (found.type === Frame.Ping) await peer.send(pong);
      assert.notEqual(found.type, Frame.Goaway);
      assert.ok(Date.now() < deadline, "the connection stays open");
    }
    assert.equal(received, 65_535);
  });
});

Deno.test("windowStallMs spares a connection whose waiting call was cancelled", async () => {
  await withPeer(async (peer) => {
    await peer.send(request(1, LARGE), message(1, new Uint8Array(0), true));
    for (let received = 0; received < 65_535;) {
      received += (await peer.find(Frame.Data, 1))?.payload.length ?? Infinity;
    }
    await peer.send(frame(Frame.RstStream, 0, 1, word(Http2Code.Cancel)), request(3, WAIT));
    // The server asks every `keepaliveMs`, so that these take longer than the stall may.
    for (let asked = 0; asked < 6; asked++) {
      assert.ok(await peer.find(Frame.Ping) !== undefined);
      await peer.send(pong);
    }
  });
});
