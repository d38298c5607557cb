// SPDX-License-Identifier: AGPL-3.0-or-later

import assert, { deepStrictEqual } from "node:assert/strict";
import { silentLogger } from "../base/log.ts";
import { Flag, Frame, Setting } from "./frames.ts";
import { createRpcServer } from "./server.ts";
import { rawService } from "./service.ts";
import { listenTcp } from "./tcp.ts";
import { frame, message, RawPeer, request, settings, word } from "./test_peer.ts";

const LARGE = "/test.Small/Large";
const LARGE_BYTES = 100_000;

async function withPeer(window: number, run: (peer: RawPeer) => Promise<void>): Promise<void> {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const services = [
    rawService("test.Small", { Large: { unary: () => new Uint8Array(LARGE_BYTES) } }),
  ];
  const server = createRpcServer({ services, log: silentLogger });
  const serving = server.serve(listener);
  const first = settings([Setting.InitialWindowSize, window]);
  const peer = await RawPeer.dial(listener.port, first);
  try {
    await peer.send(request(1, LARGE), message(1, new Uint8Array(0), true));
    await run(peer);
  } finally {
    peer.close();
    await server.drain(1000);
    await serving;
  }
}

/** Waits until the server has read everything that was sent before. */
async function settle(peer: RawPeer): Promise<void> {
  await peer.send(frame(Frame.Ping, 0, 0, new Uint8Array(8)));
  while (((await peer.find(Frame.Ping))?.flags ?? Flag.Ack) !== Flag.Ack);
}

async function dataBytes(peer: RawPeer): Promise<number> {
  return (await peer.find(Frame.Data, 1))?.payload.length ?? 0;
}

Deno.test("a window of the stream that opens by single bytes gets one frame for many", async () => {
  await withPeer(1, async (peer) => {
    for (let opened = 0; opened < 50; opened++) {
      await peer.send(frame(Frame.WindowUpdate, 0, 1, word(1)));
      await settle(peer);
    }
    deepStrictEqual(await dataBytes(peer), 51);
  });
});

Deno.test("a window of the connection that opens by single bytes gets one frame for many", async () => {
  await withPeer(0x7fff_ffff, async (peer) => {
    for (let received = 0; received < 65_535;) received += await dataBytes(peer);
    for (let opened = 0; opened < 50; opened++) {
      await peer.send(frame(Frame.WindowUpdate, 0, 0, word(1)));
      await settle(peer);
    }
    deepStrictEqual(await dataBytes(peer), 50);
  });
});

Deno.test("a small window that becomes worth a frame is used at once", async () => {
  await withPeer(1, async (peer) => {
    const startMs = performance.now();
    await peer.send(frame(Frame.WindowUpdate, 0, 1, word(999)));
    deepStrictEqual(await dataBytes(peer), 1000);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < 150, `it took ${tookMs} ms`);
  });
});

Deno.test("what is left of a message goes out however small it is", async () => {
  await withPeer(LARGE_BYTES + 4, async (peer) => {
    await peer.send(frame(Frame.WindowUpdate, 0, 0, word(LARGE_BYTES)));
    for (let received = 0; received < LARGE_BYTES + 4;) received += await dataBytes(peer);
    const startMs = performance.now();
    await peer.send(frame(Frame.WindowUpdate, 0, 1, word(1)));
    deepStrictEqual(await dataBytes(peer), 1);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < 150, `it took ${tookMs} ms`);
  });
});
