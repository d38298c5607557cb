// SPDX-License-Identifier: AGPL-3.0-or-later

import assert, { deepStrictEqual } from "node:assert/strict";
import { silentLogger } from "../base/log.ts";
import { DEFAULT_FRAME_BYTES, Flag, Frame, putUint32, Setting } from "./frames.ts";
import { createRpcServer } from "./server.ts";
import { type MessageSink, rawService } from "./service.ts";
import { listenTcp } from "./tcp.ts";
import { frame, message, type RawFrame, RawPeer, request, settings, word } from "./test_peer.ts";

const NOTHING = new Uint8Array(0);

/** Serves a method that sends what it likes, to one peer with a window for all of it. */
async function withPeer(
  send: (sink: MessageSink) => Promise<void>,
  run: (peer: RawPeer) => Promise<void>,
): Promise<void> {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const services = [
    rawService("test.Data", { Send: { serverSink: (_request, _context, sink) => send(sink) } }),
  ];
  const server = createRpcServer({ services, log: silentLogger });
  const serving = server.serve(listener);
  const first = settings([Setting.InitialWindowSize, 1 << 20]);
  const peer = await RawPeer.dial(listener.port, first);
  try {
    await peer.send(frame(Frame.WindowUpdate, 0, 0, word(1 << 20)));
    await run(peer);
  } finally {
    peer.close();
    await server.drain(1000);
    await serving;
  }
}

async function call(peer: RawPeer, id: number): Promise<void> {
  await peer.send(request(id, "/test.Data/Send"), message(id, NOTHING, true));
}

/** The DATA frames of a stream up to its trailers. */
async function dataFrames(peer: RawPeer, id: number): Promise<RawFrame[]> {
  const found: RawFrame[] = [];
  for (;;) {
    const next = await peer.next();
    assert.ok(next !== undefined, "the connection ended");
    if (next.id !== id) continue;
    if (next.type === Frame.Data) found.push(next);
    else if (next.type === Frame.Headers && (next.flags & Flag.EndStream) !== 0) return found;
  }
}

function joined(frames: readonly RawFrame[]): Uint8Array {
  return Uint8Array.from(frames.flatMap(({ payload }) => [...payload]));
}

/** The body that messages make. */
function body(...messages: Uint8Array[]): Uint8Array {
  return Uint8Array.from(messages.flatMap((bytes) => {
    const prefix = new Uint8Array(5);
    putUint32(prefix, 1, bytes.length);
    return [...prefix, ...bytes];
  }));
}

function bytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index * 7 + length);
}

/** The DATA frames of messages that are sent one after the other without waiting. */
async function framesOf(messages: readonly Uint8Array[]): Promise<RawFrame[]> {
  let frames: RawFrame[] = [];
  await withPeer((sink) => {
    for (const each of messages) void sink.send(each);
    return Promise.resolve();
  }, async (peer) => {
    await call(peer, 1);
    frames = await dataFrames(peer, 1);
  });
  return frames;
}

Deno.test("messages that are sent together share a DATA frame", async () => {
  const messages = [bytes(10), NOTHING, bytes(300)];
  const frames = await framesOf(messages);
  deepStrictEqual(frames.length, 1);
  deepStrictEqual(joined(frames), body(...messages));
});

Deno.test("a DATA frame that is shared does not grow beyond what every peer takes", async () => {
  const messages = Array.from({ length: 40 }, (_, index) => bytes(1000 + index));
  const frames = await framesOf(messages);
  for (const { payload } of frames) assert.ok(payload.length <= DEFAULT_FRAME_BYTES);
  deepStrictEqual(frames.length, 3);
  deepStrictEqual(joined(frames), body(...messages));
});

Deno.test("streams that send in turn keep frames of their own", async () => {
  const sinks: MessageSink[] = [];
  const bothThere = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  await withPeer(async (sink) => {
    sinks.push(sink);
    if (sinks.length === 2) bothThere.resolve();
    await sent.promise;
  }, async (peer) => {
    await call(peer, 1);
    await call(peer, 3);
    await bothThere.promise;
    for (let turn = 0; turn < 3; turn++) {
      for (const [index, sink] of sinks.entries()) void sink.send(bytes(10 * turn + index));
    }
    sent.resolve();
    const frames: RawFrame[] = [];
    while (frames.length < 6) {
      const found = await peer.find(Frame.Data);
      assert.ok(found !== undefined);
      frames.push(found);
    }
    for (const [index, id] of [1, 3].entries()) {
      const own = joined(frames.filter((found) => found.id === id));
      deepStrictEqual(own, body(...[0, 10, 20].map((length) => bytes(length + index))));
    }
  });
});

for (const size of [0, 5, 700, 16_379, 16_380, 100_000]) {
  Deno.test(`a message of ${size} bytes in pieces is the one that was meant`, async () => {
    const whole = bytes(size);
    await withPeer(async (sink) => {
      const parts: Uint8Array[] = [];
      for (let at = 0, length = 1; at < size; at += length, length = length * 3 + 1) {
        parts.push(whole.subarray(at, at + length));
      }
      await sink.sendParts(parts, size);
      await sink.send(bytes(3));
    }, async (peer) => {
      await call(peer, 1);
      deepStrictEqual(joined(await dataFrames(peer, 1)), body(whole, bytes(3)));
    });
  });
}
