// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { join } from "node:path";
import { CodedError } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import type { CallObserver } from "./call_observer.ts";
import { type Channel, type ChannelOptions, createChannel } from "./client.ts";
import type { Metadata } from "./metadata.ts";
import { createRpcServer, type RpcServer, type RpcServerOptions } from "./server.ts";
import { rawService } from "./service.ts";
import type { ByteStream, StreamListener } from "./stream.ts";
import { dialTcp, dialUnix, listenTcp, listenUnix } from "./tcp.ts";

const ECHO = "/test.Echo/Echo";

/** What a test of streams looks at from outside of its handlers. */
interface Seen {
  produced: number;
  aborted: number;
}

function echoService(seen: Seen = { produced: 0, aborted: 0 }) {
  return rawService("test.Echo", {
    Echo: { unary: (request) => request },
    Headers: {
      unary: (request, context) => {
        context.setHeader("x-seen", context.metadata.text("x-sent") ?? "none");
        context.setHeader(
          "x-bytes-bin",
          context.metadata.binary("x-sent-bin") ?? new Uint8Array(0),
        );
        context.setTrailer("x-peer", context.remoteAddress);
        context.sendHeaders();
        assert.throws(() => context.setHeader("x-late", "x"), TypeError);
        return request;
      },
    },
    Endless: {
      serverStream: async function* (request, { signal }) {
        signal.addEventListener("abort", () => seen.aborted++);
        for (;;) {
          seen.produced++;
          yield await Promise.resolve(request);
        }
      },
    },
    Sink: {
      serverSink: async (request, _context, sink) => {
        for (let at = 0; at < 10_000; at++) {
          const sent = sink.send(request);
          if (sent !== undefined) await sent;
        }
      },
    },
    Slow: {
      clientStream: (_requests, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(new Uint8Array(0)));
        }),
    },
  });
}

interface Running {
  readonly server: RpcServer;
  readonly listener: StreamListener;
  readonly serving: Promise<void>;
}

function start(port = 0, options: Partial<RpcServerOptions> = {}): Running {
  const listener = listenTcp({ hostname: "127.0.0.1", port });
  const server = createRpcServer({ services: [echoService()], log: silentLogger, ...options });
  return { server, listener, serving: server.serve(listener) };
}

async function stop({ server, serving }: Running): Promise<void> {
  await server.drain(1000);
  await serving;
}

function channelTo(port: number, options: Partial<ChannelOptions> = {}): Channel {
  return createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "test",
    backoff: { initialMs: 10, maximumMs: 50 },
    ...options,
  });
}

Deno.test("createChannel() dials with its first call, and again after the server was restarted", async () => {
  const first = start();
  const { port } = first.listener;
  const channel = channelTo(port);
  assert.equal(channel.state, "idle");
  await channel.rawCall(ECHO, new Uint8Array(1));
  assert.equal(channel.state, "ready");
  await stop(first);
  await assert.rejects(channel.rawCall(ECHO, new Uint8Array(1)), { code: "unavailable" });
  assert.equal(channel.state, "failing");
  const second = start(port);
  const reply = await channel.rawCall(ECHO, new Uint8Array(2), {
    waitForReady: true,
    timeoutMs: 10_000,
  });
  assert.equal(reply.length, 2);
  channel.close();
  assert.equal(channel.state, "closed");
  await assert.rejects(channel.rawCall(ECHO, new Uint8Array(1)), { code: "cancelled" });
  await stop(second);
});

Deno.test("createChannel() fails calls at once while it waits to dial again", async () => {
  let dials = 0;
  const channel = channelTo(0, {
    dial: () => {
      dials++;
      return Promise.reject(new Error("nobody there"));
    },
    backoff: { initialMs: 60_000, maximumMs: 60_000 },
  });
  for (let at = 0; at < 3; at++) {
    await assert.rejects(channel.rawCall(ECHO, new Uint8Array(1)), { code: "unavailable" });
  }
  assert.equal(dials, 1);
  const waiting = assert.rejects(
    channel.rawCall(ECHO, new Uint8Array(1), { waitForReady: true, timeoutMs: 100 }),
    { code: "deadlineExceeded" },
  );
  // A call that is ready to wait makes no other one wait.
  await assert.rejects(
    channel.rawCall(ECHO, new Uint8Array(1), { timeoutMs: 1000 }),
    { code: "unavailable" },
  );
  await waiting;
  assert.equal(dials, 1);
  channel.close();
});

Deno.test("createChannel() gives up a peer that does not speak HTTP/2", async () => {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const { stream } of listener) {
      await stream.write(new TextEncoder().encode("SSH-2.0-OpenSSH_9.2\r\n"));
      await stream.read(new Uint8Array(1024));
      stream.close();
    }
  })();
  const channel = channelTo(listener.port, { dialTimeoutMs: 2000 });
  await assert.rejects(channel.rawCall(ECHO, new Uint8Array(1)), { code: "unavailable" });
  channel.close();
  listener.close();
  await serving;
});

Deno.test("createChannel() notices a peer that went silent by keepaliveMs", async () => {
  const running = start();
  let cut = false;
  const channel = channelTo(running.listener.port, {
    keepaliveMs: 100,
    limits: { keepaliveTimeoutMs: 200 },
    dial: async (signal) => {
      const inner = await dialTcp({ hostname: "127.0.0.1", port: running.listener.port, signal });
      // Takes everything and gives nothing once it is cut.
      const read: ByteStream["read"] = async (buffer) => {
        const count = await inner.read(buffer);
        return cut && count !== null ? await inner.read(buffer) : count;
      };
      const write: ByteStream["write"] = (data) =>
        cut ? Promise.resolve(data.length) : inner.write(data);
      return { read, write, closeWrite: () => inner.closeWrite(), close: () => inner.close() };
    },
  });
  const idle = channel.rawStream("/test.Echo/Slow");
  await idle.send(new Uint8Array(1));
  await channel.rawCall(ECHO, new Uint8Array(1));
  cut = true;
  await assert.rejects(idle.messages.next(), { code: "unavailable" });
  channel.close();
  await stop(running);
});

Deno.test("close() ends the calls of a channel", async () => {
  const running = start();
  const channel = channelTo(running.listener.port);
  const stream = channel.rawStream("/test.Echo/Slow");
  await stream.send(new Uint8Array(1));
  const ended = assert.rejects(stream.messages.next());
  channel.close();
  await ended;
  await stop(running);
});

Deno.test("setHeader() and setTrailer() reach the client, and its metadata the handler", async () => {
  const running = start();
  const channel = channelTo(running.listener.port);
  const seen: Metadata[] = [];
  await channel.rawCall("/test.Echo/Headers", new Uint8Array(1), {
    metadata: { "x-sent": "value", "x-sent-bin": Uint8Array.of(1, 2) },
    onHeaders: (headers) => seen.push(headers),
    onTrailers: (trailers) => seen.push(trailers),
  });
  const [headers, trailers] = seen;
  assert.equal(headers?.text("x-seen"), "value");
  assert.deepEqual(headers?.binary("x-bytes-bin"), Uint8Array.of(1, 2));
  assert.equal(trailers?.text("x-peer"), "127.0.0.1");
  channel.close();
  await stop(running);
});

Deno.test("rawStream() holds a server back that produces faster than it is read", async () => {
  const seen: Seen = { produced: 0, aborted: 0 };
  const running = start(0, { services: [echoService(seen)] });
  const channel = channelTo(running.listener.port);
  const stream = channel.rawStream("/test.Echo/Endless");
  const size = 64 * 1024;
  await stream.send(new Uint8Array(size));
  stream.end();
  for (let at = 0; at < 10; at++) await stream.messages.next();
  // Echoes go on meanwhile, so that the server has every chance to run ahead.
  for (let at = 0; at < 200; at++) await channel.rawCall(ECHO, new Uint8Array(10));
  // Two windows and the sending buffer, not more.
  assert.ok(seen.produced < 10 + 3 * 1024 * 1024 / size, `${seen.produced} messages`);
  // Leaving the loop cancels the call.
  for await (const _ of stream.messages) break;
  const deadline = Date.now() + 10_000;
  while (seen.aborted === 0 && Date.now() < deadline) {
    await channel.rawCall(ECHO, new Uint8Array(1));
  }
  assert.equal(seen.aborted, 1);
  channel.close();
  await stop(running);
});

Deno.test("rawStream() says that the server has ended the call", async () => {
  let taken = 0;
  const requests = async function* () {
    for (;;) {
      taken++;
      yield await Promise.resolve(new Uint8Array(10));
    }
  };
  const service = rawService("test.Echo", { Ending: { bidi: async function* () {} } });
  const running = start(0, { services: [service] });
  const channel = channelTo(running.listener.port);
  const stream = channel.rawStream("/test.Echo/Ending");
  for await (const request of requests()) {
    await stream.send(request);
    if (stream.ended) break;
  }
  assert.ok(taken > 0);
  assert.equal((await stream.messages.next()).done, true);
  channel.close();
  await stop(running);
});

Deno.test("createChannel() keeps a call that waits for a target until its deadline", async () => {
  let dials = 0;
  const channel = channelTo(0, {
    dial: () => {
      dials++;
      return Promise.reject(new Error("nobody there"));
    },
  });
  await assert.rejects(
    channel.rawCall(ECHO, new Uint8Array(1), { waitForReady: true, timeoutMs: 300 }),
    { code: "deadlineExceeded" },
  );
  assert.ok(dials > 2, `${dials} dials`);
  channel.close();
});

Deno.test("createRpcServer() lets go of a source of replies when its call is cancelled", async () => {
  const released = Promise.withResolvers<void>();
  const source: AsyncIterableIterator<Uint8Array> = {
    next: () => new Promise(() => {}),
    return: () => {
      released.resolve();
      return Promise.resolve({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]: () => source,
  };
  const service = rawService("test.Echo", { Silent: { serverStream: () => source } });
  const running = start(0, { services: [service] });
  const channel = channelTo(running.listener.port);
  const stream = channel.rawStream("/test.Echo/Silent");
  await stream.send(new Uint8Array(1));
  stream.end();
  // An answer to something else shows that the server has the request.
  await assert.rejects(channel.rawCall("/test.Echo/None", new Uint8Array(1)));
  stream.cancel();
  await released.promise;
  await assert.rejects(stream.messages.next(), { code: "cancelled" });
  channel.close();
  await stop(running);
});

Deno.test("rawStream() is held back by a server that does not read", async () => {
  const running = start();
  const channel = channelTo(running.listener.port);
  const stream = channel.rawStream("/test.Echo/Slow");
  let sent = 0;
  const sending = (async () => {
    for (; sent < 1000; sent++) await stream.send(new Uint8Array(64 * 1024));
  })();
  for (let at = 0; at < 200; at++) await channel.rawCall(ECHO, new Uint8Array(10));
  assert.ok(sent < 100, `${sent} messages`);
  stream.cancel();
  await sending;
  await assert.rejects(stream.messages.next(), { code: "cancelled" });
  channel.close();
  await stop(running);
});

Deno.test("createRpcServer() begins a stream of replies with the request, not with its end", async () => {
  const running = start();
  const channel = channelTo(running.listener.port);
  const stream = channel.rawStream("/test.Echo/Endless");
  await stream.send(new Uint8Array(3));
  assert.equal((await stream.messages.next()).value?.length, 3);
  // A second request is one too many.
  await stream.send(new Uint8Array(3));
  await assert.rejects(
    async () => {
      for await (const _ of stream.messages);
    },
    { code: "internal" },
  );
  channel.close();
  await stop(running);
});

Deno.test("serverSink sends all messages in order of sending", async () => {
  const running = start();
  const channel = channelTo(running.listener.port);
  const stream = channel.rawStream("/test.Echo/Sink");
  await stream.send(new Uint8Array(100));
  stream.end();
  let count = 0;
  for await (const message of stream.messages) count += message.length === 100 ? 1 : 0;
  assert.equal(count, 10_000);
  channel.close();
  await stop(running);
});

Deno.test("interceptors refuse calls, and an observer sees every one", async () => {
  const seen: string[] = [];
  const observer: CallObserver = {
    callStarted: ({ service, name, type }) => seen.push(`start ${service} ${name} ${type}`),
    messageReceived: () => seen.push("received"),
    messageSent: () => seen.push("sent"),
    callEnded: (_, code, durationMs) => seen.push(`end ${code} ${durationMs >= 0}`),
  };
  const running = start(0, {
    observer,
    interceptors: [async ({ metadata }) => {
      await Promise.resolve();
      if (!metadata.has("x-token")) throw new CodedError("unauthenticated", "no token");
    }],
  });
  const channel = channelTo(running.listener.port);
  await assert.rejects(channel.rawCall(ECHO, new Uint8Array(1)), { code: "unauthenticated" });
  await channel.rawCall(ECHO, new Uint8Array(1), { metadata: { "x-token": "t" } });
  assert.deepEqual(seen, [
    "start test.Echo Echo unary",
    "received",
    "end 16 true",
    "start test.Echo Echo unary",
    "received",
    "sent",
    "end 0 true",
  ]);
  channel.close();
  await stop(running);
});

Deno.test("createRpcServer() refuses two services with one method", () => {
  const services = [echoService(), echoService()];
  assert.throws(() => createRpcServer({ services, log: silentLogger }), TypeError);
});

Deno.test("listenUnix() and dialUnix() carry calls", async () => {
  const folder = await Deno.makeTempDir();
  const path = join(folder, "rpc.sock");
  const listener = listenUnix(path);
  const server = createRpcServer({ services: [echoService()], log: silentLogger });
  const serving = server.serve(listener);
  const channel = channelTo(0, { dial: (signal) => dialUnix(path, { signal }) });
  assert.equal((await channel.rawCall(ECHO, new Uint8Array(300_000))).length, 300_000);
  channel.close();
  await server.drain(1000);
  await serving;
  await Deno.remove(folder, { recursive: true });
});
