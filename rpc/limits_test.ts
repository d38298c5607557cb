// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { silentLogger } from "../base/log.ts";
import { createChannel } from "./client.ts";
import { Flag, Frame, Http2Code, Setting } from "./frames.ts";
import type { Limits } from "./limits.ts";
import { createRpcServer, type RpcServer } from "./server.ts";
import { rawService } from "./service.ts";
import { dialTcp, listenTcp } from "./tcp.ts";
import {
  block,
  frame,
  message,
  RawPeer,
  request,
  requestBlock,
  settings,
  word,
} from "./test_peer.ts";

const ECHO = "/test.Echo/Echo";
const WATCHED = "/test.Echo/Watched";

/** Settles when the server has given up a call of `Watched`. */
const watchedEnd = Promise.withResolvers<void>();

const SERVICE = rawService("test.Echo", {
  Echo: { unary: (bytes) => bytes },
  Hang: {
    unary: (bytes, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(bytes))),
  },
  Take: { clientStream: (_requests, { signal }) => untilAborted(signal) },
  Watched: {
    clientStream: async (_requests, { signal }) => {
      const bytes = await untilAborted(signal);
      watchedEnd.resolve();
      return bytes;
    },
  },
  Large: { unary: () => new Uint8Array(100_000) },
});

function untilAborted(signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(new Uint8Array(0)));
  });
}

async function withServer(
  limits: Partial<Limits>,
  run: (port: number, server: RpcServer) => Promise<void>,
): Promise<void> {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const server = createRpcServer({ services: [SERVICE], log: silentLogger, limits });
  const serving = server.serve(listener);
  try {
    await run(listener.port, server);
  } finally {
    await server.drain(1000);
    await serving;
  }
}

/** Connects a raw peer, runs, and closes it. */
function withPeer(
  limits: Partial<Limits>,
  run: (peer: RawPeer, server: RpcServer) => Promise<void>,
  first?: Uint8Array,
): Promise<void> {
  return withServer(limits, async (port, server) => {
    const peer = await RawPeer.dial(port, first);
    try {
      await run(peer, server);
    } finally {
      peer.close();
    }
  });
}

async function resetCode(peer: RawPeer, id: number): Promise<number | undefined> {
  const found = await peer.find(Frame.RstStream, id);
  return found?.payload[3];
}

/** The message of the trailers of a reply. */
async function statusOf(peer: RawPeer, id: number): Promise<string> {
  for (;;) {
    const found = await peer.find(Frame.Headers, id);
    assert.ok(found !== undefined, "the connection ended before the status");
    if ((found.flags & Flag.EndStream) !== 0) return found.message ?? "";
  }
}

Deno.test("maxConcurrentStreams refuses one stream more", async () => {
  await withPeer({ maxConcurrentStreams: 2 }, async (peer) => {
    await peer.send(...[1, 3, 5].map((id) => request(id, "/test.Echo/Take")));
    assert.equal(await resetCode(peer, 5), Http2Code.RefusedStream);
  });
});

Deno.test("maxHeaderListBytes ends a stream with too many headers", async () => {
  await withPeer({}, async (peer) => {
    const fields = requestBlock(ECHO, "x-long", "v".repeat(17_000));
    const half = fields.subarray(0, 10_000);
    await peer.send(
      frame(Frame.Headers, 0, 1, half),
      frame(Frame.Continuation, Flag.EndHeaders, 1, fields.subarray(half.length)),
    );
    assert.equal(await resetCode(peer, 1), Http2Code.EnhanceYourCalm);
  });
});

Deno.test("maxFrameBytes ends a connection with a longer frame", async () => {
  await withPeer({}, async (peer) => {
    await peer.send(frame(Frame.Data, 0, 1, new Uint8Array(16_385)).subarray(0, 9));
    assert.equal(await peer.goawayCode(), Http2Code.FrameSizeError);
  });
});

function repeat(count: number, make: (at: number) => Uint8Array): Uint8Array {
  const pieces = Array.from({ length: count }, (_, at) => make(at));
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

const ping = frame(Frame.Ping, 0, 0, new Uint8Array(8));
const FLOODS: Readonly<Record<string, Uint8Array>> = {
  "rapid reset": repeat(
    6000,
    (at) =>
      at % 2 === 0
        ? request(at + 1, ECHO, true)
        : frame(Frame.RstStream, 0, at, word(Http2Code.Cancel)),
  ),
  "resets that faults provoke": repeat(
    5000,
    (at) =>
      at % 2 === 0 ? request(at + 1, "/test.Echo/Take") : frame(Frame.WindowUpdate, 0, at, word(0)),
  ),
  "more streams than allowed": repeat(6000, (at) => request(at * 2 + 1, "/test.Echo/Take")),
  "CONTINUATION frames": repeat(
    100,
    (at) =>
      at === 0
        ? frame(Frame.Headers, 0, 1, requestBlock(ECHO))
        : frame(Frame.Continuation, 0, 1, block("x", "y")),
  ),
  "a header block of many bytes": repeat(
    20,
    (at) =>
      at === 0
        ? frame(Frame.Headers, 0, 1, new Uint8Array(16_000))
        : frame(Frame.Continuation, 0, 1, new Uint8Array(16_000)),
  ),
  "SETTINGS frames": repeat(300, () => settings()),
  "PING frames": repeat(500, () => ping),
  "PRIORITY frames": repeat(3000, (at) => frame(Frame.Priority, 0, at * 2 + 1, new Uint8Array(5))),
  "unknown frames": repeat(3000, () => frame(0xbb, 0, 0)),
  "empty DATA frames": repeat(
    300,
    (at) => at === 0 ? request(1, "/test.Echo/Take") : frame(Frame.Data, 0, 1),
  ),
  "small WINDOW_UPDATE frames": repeat(50_000, () => frame(Frame.WindowUpdate, 0, 0, word(1))),
};

for (const [name, bytes] of Object.entries(FLOODS)) {
  Deno.test(`createRpcServer() ends a connection with a flood of ${name}`, async () => {
    await withPeer({}, async (peer) => {
      // The server may close while the flood is still being written.
      const sending = peer.send(bytes).catch(() => {});
      assert.equal(await peer.goawayCode(), Http2Code.EnhanceYourCalm);
      await sending;
    });
  });
}

Deno.test("maxPingsPer10s excuses the pings of a peer that receives data", async () => {
  await withPeer({ maxPingsPer10s: 5 }, async (peer) => {
    for (let at = 0; at < 40; at++) {
      const id = at * 2 + 1;
      await peer.send(request(id, ECHO), message(id, new Uint8Array(4), true), ping);
      assert.ok(await peer.find(Frame.Ping) !== undefined);
    }
  });
});

const CLOSINGS: Readonly<Record<string, { limits: Partial<Limits>; first: Uint8Array }>> = {
  "no settings": { limits: { prefaceTimeoutMs: 200 }, first: new Uint8Array(0) },
  "a frame without its end": {
    limits: { requestStallMs: 100, prefaceTimeoutMs: 400 },
    first: repeat(2, (at) => at === 0 ? settings() : request(1, ECHO).subarray(0, 20)),
  },
  "a header block without its end": {
    limits: { requestStallMs: 100, prefaceTimeoutMs: 400 },
    first: repeat(2, (at) => at === 0 ? settings() : frame(Frame.Headers, 0, 1, block("a", "b"))),
  },
  "no streams for long": { limits: { idleMs: 200 }, first: settings() },
  "no answer to a keepalive PING": {
    limits: { keepaliveMs: 100, keepaliveTimeoutMs: 200 },
    first: settings(),
  },
};

for (const [name, { limits, first }] of Object.entries(CLOSINGS)) {
  Deno.test(`createRpcServer() closes a connection with ${name}`, async () => {
    await withPeer(limits, async (peer) => {
      for (let found = await peer.next(); found !== undefined; found = await peer.next()) {
        // A peer that is drained answers, so that the server knows it has seen the GOAWAY.
        const isDrain = found.type === Frame.Ping && found.payload[6] === 0x0d;
        if (isDrain) await peer.send(frame(Frame.Ping, Flag.Ack, 0, found.payload));
      }
    }, first);
  });
}

Deno.test("prefaceTimeoutMs closes a connection without the preface", async () => {
  await withServer({ prefaceTimeoutMs: 200 }, async (port) => {
    for (const text of ["", "PRI * HT", "GET /healthz HT"]) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      await connection.write(new TextEncoder().encode(text));
      assert.equal(await connection.read(new Uint8Array(10)), null);
      connection.close();
    }
  });
});

Deno.test("requestStallMs answers a request that does not arrive", async () => {
  await withPeer({ requestStallMs: 100, prefaceTimeoutMs: 400 }, async (peer) => {
    await peer.send(request(1, ECHO), frame(Frame.Data, 0, 1, Uint8Array.of(0, 0, 0, 1, 0, 7)));
    assert.match(await statusOf(peer, 1), /did not arrive/);
  });
});

Deno.test("writeStallMs closes a connection whose peer does not read", async () => {
  const first = settings([Setting.InitialWindowSize, 0x7fff_ffff]);
  await withPeer({ writeStallMs: 300 }, async (peer) => {
    await peer.send(frame(Frame.WindowUpdate, 0, 0, word(0x7fff_0000)), request(1, WATCHED));
    // More replies than the sockets can hold, of which none is read.
    for (let at = 1; at < 300; at++) {
      const id = at * 2 + 1;
      await peer.send(request(id, "/test.Echo/Large"), message(id, new Uint8Array(0), true));
    }
    await watchedEnd.promise;
  }, first);
});

Deno.test("windowStallMs ends a stream whose window stays closed", async () => {
  await withPeer({ windowStallMs: 200, prefaceTimeoutMs: 400 }, async (peer) => {
    await peer.send(request(1, "/test.Echo/Large"), message(1, new Uint8Array(0), true));
    assert.equal(await resetCode(peer, 1), Http2Code.Cancel);
  }, settings([Setting.InitialWindowSize, 0]));
});

Deno.test("maxConnectionsPerPeer and maxConnections close one connection more", async () => {
  for (const limits of [{ maxConnectionsPerPeer: 2 }, { maxConnections: 2 }]) {
    await withServer(limits, async (port) => {
      const peers = [await RawPeer.dial(port), await RawPeer.dial(port)];
      for (const peer of peers) assert.equal((await peer.next())?.type, Frame.Settings);
      const third = await Deno.connect({ hostname: "127.0.0.1", port });
      assert.equal(await third.read(new Uint8Array(10)), null);
      third.close();
      for (const peer of peers) peer.close();
    });
  }
});

Deno.test("maxConnectionBufferBytes refuses the message that would go beyond it", async () => {
  await withPeer({ maxConnectionBufferBytes: 100_000 }, async (peer) => {
    const part = frame(Frame.Data, 0, 1, Uint8Array.of(0, 0, 1, 0, 0, ...new Uint8Array(1000)));
    await peer.send(request(1, ECHO), part);
    const pieces: Uint8Array[] = [];
    for (let id = 3; id < 30; id += 2) {
      const data = part.slice();
      data[8] = id;
      pieces.push(request(id, ECHO), data);
    }
    await peer.send(...pieces);
    assert.match(await statusOf(peer, 7), /Too many bytes are being received/);
  });
});

Deno.test("maxConnectionUnsentBytes refuses the reply that would go beyond it", async () => {
  await withPeer({ maxConnectionUnsentBytes: 150_000 }, async (peer) => {
    for (const id of [1, 3]) {
      await peer.send(request(id, "/test.Echo/Large"), message(id, new Uint8Array(0), true));
    }
    assert.match(await statusOf(peer, 3), /Too many replies wait/);
  }, settings([Setting.InitialWindowSize, 0]));
});

Deno.test("maxMessageBytes refuses a message by its length, and a compressed one by its content", async () => {
  await withPeer({ maxMessageBytes: 1000 }, async (peer) => {
    await peer.send(request(1, ECHO), frame(Frame.Data, 0, 1, Uint8Array.of(0, 0, 0, 3, 233)));
    assert.match(await statusOf(peer, 1), /larger than 1000/);
    const bomb = gzipSync(new Uint8Array(1_000_000));
    const payload = Uint8Array.of(1, 0, 0, bomb.length >>> 8, bomb.length & 255, ...bomb);
    const headers = frame(
      Frame.Headers,
      Flag.EndHeaders,
      3,
      requestBlock(ECHO, "grpc-encoding", "gzip"),
    );
    await peer.send(headers, frame(Frame.Data, Flag.EndStream, 3, payload));
    assert.match(await statusOf(peer, 3), /larger than 1000/);
  });
});

Deno.test("createRpcServer() sends byte by byte into a window of one byte", async () => {
  await withPeer({}, async (peer) => {
    const text = new TextEncoder().encode("hello");
    await peer.send(request(1, ECHO), message(1, text, true));
    const received: number[] = [];
    while (received.length < 10) {
      const data = await peer.find(Frame.Data, 1);
      assert.equal(data?.payload.length, 1);
      received.push(data?.payload[0] ?? -1);
      await peer.send(frame(Frame.WindowUpdate, 0, 1, word(1)));
    }
    assert.deepEqual(received, [0, 0, 0, 0, 5, ...text]);
    assert.ok(await peer.find(Frame.Headers, 1) !== undefined);
  }, settings([Setting.InitialWindowSize, 1]));
});

Deno.test("drain() lets a running call end and takes no other one", async () => {
  await withPeer({}, async (peer, server) => {
    await peer.send(request(1, ECHO));
    await peer.send(ping);
    await peer.find(Frame.Ping);
    const draining = server.drain(5000);
    const first = await peer.find(Frame.Goaway);
    assert.equal(first?.payload[0], 0x7f);
    const probe = await peer.find(Frame.Ping);
    // A call that was under way when the server said so is still served.
    await peer.send(request(3, ECHO), frame(Frame.Ping, Flag.Ack, 0, probe?.payload));
    const second = await peer.find(Frame.Goaway);
    assert.equal(second?.payload[3], 3);
    await peer.send(
      request(5, ECHO),
      message(1, Uint8Array.of(1), true),
      message(3, Uint8Array.of(2), true),
    );
    const replies: number[] = [];
    for (let found = await peer.next(); found !== undefined; found = await peer.next()) {
      if (found.type === Frame.Data) replies.push(found.id);
      assert.notEqual(found.id, 5);
    }
    assert.deepEqual(replies, [1, 3]);
    await draining;
  });
});

Deno.test("createChannel() waits for a stream when the server allows no more of them", async () => {
  await withServer({ maxConcurrentStreams: 2 }, async (port) => {
    const channel = createChannel({
      dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
      authority: "test",
    });
    const abort = new AbortController();
    const held = [1, 2].map(() =>
      channel.rawCall("/test.Echo/Hang", new Uint8Array(1), { signal: abort.signal })
        .catch((error) => error.code)
    );
    await channel.connect();
    const cancelled = new AbortController();
    const given = channel.rawCall(ECHO, new Uint8Array(1), { signal: cancelled.signal });
    const calls = Array.from({ length: 20 }, () => channel.rawCall(ECHO, new Uint8Array(9)));
    cancelled.abort();
    await assert.rejects(given, { code: "cancelled" });
    abort.abort();
    assert.deepEqual(await Promise.all(held), ["cancelled", "cancelled"]);
    for (const reply of await Promise.all(calls)) assert.equal(reply.length, 9);
    channel.close();
  });
});
