// SPDX-License-Identifier: AGPL-3.0-or-later

import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { State } from "../proto/gen/cosi/resource_pb.ts";
import { CodedError } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import { type Channel, createChannel, createClient } from "./client.ts";
import { createRpcServer, type RpcServerOptions } from "./server.ts";
import { implementService, rawService } from "./service.ts";
import { dialTcp, listenTcp } from "./tcp.ts";

const text = new TextEncoder();
const ECHO = rawService("test.Echo", {
  Echo: { unary: (request) => request },
  Later: { unary: async (request) => await Promise.resolve(request) },
  Fail: {
    unary: () => {
      throw new CodedError("notFound", "no such thing: ü%\n");
    },
  },
  Panic: {
    unary: () => {
      throw new TypeError("the secret is 42");
    },
  },
  Hang: {
    unary: (request, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(request))),
  },
  Count: {
    serverStream: async function* (request) {
      const count = new DataView(request.buffer, request.byteOffset).getUint32(0);
      for (let at = 0; at < count; at++) yield request;
    },
  },
  Sum: {
    clientStream: async (requests) => {
      let bytes = 0;
      for await (const request of requests) bytes += request.length;
      return text.encode(String(bytes));
    },
  },
  Chat: {
    bidi: async function* (requests) {
      for await (const request of requests) yield request;
    },
  },
});

async function withServer(
  options: Partial<RpcServerOptions>,
  run: (channel: Channel, port: number) => Promise<void>,
): Promise<void> {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const server = createRpcServer({ services: [ECHO], log: silentLogger, ...options });
  const serving = server.serve(listener);
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port: listener.port, signal }),
    authority: `127.0.0.1:${listener.port}`,
  });
  try {
    await run(channel, listener.port);
  } finally {
    channel.close();
    await server.drain(5000);
    await serving;
  }
}

function count(times: number, length = 4): Uint8Array {
  const bytes = new Uint8Array(length);
  new DataView(bytes.buffer).setUint32(0, times);
  return bytes;
}

Deno.test("rawCall() gets the reply of a unary method", async () => {
  await withServer({}, async (channel) => {
    for (const path of ["/test.Echo/Echo", "/test.Echo/Later"]) {
      const reply = await channel.rawCall(path, text.encode("hello"));
      assert.equal(new TextDecoder().decode(reply), "hello");
      assert.equal((await channel.rawCall(path, new Uint8Array(0))).length, 0);
    }
    assert.equal(channel.state, "ready");
  });
});

Deno.test("rawCall() carries messages of many sizes unchanged", async () => {
  await withServer({}, async (channel) => {
    for (const size of [1, 16_379, 16_380, 65_530, 65_536, 1_000_000, 32 * 1024 * 1024]) {
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at += 997) bytes[at] = at;
      const reply = await channel.rawCall("/test.Echo/Echo", bytes);
      assert.ok(Buffer.from(reply.buffer, reply.byteOffset, reply.length).equals(bytes));
    }
  });
});

Deno.test("rawCall() refuses messages beyond the limit", async () => {
  await withServer({}, async (channel) => {
    await assert.rejects(
      channel.rawCall("/test.Echo/Echo", new Uint8Array(32 * 1024 * 1024 + 1)),
      { code: "resourceExhausted" },
    );
  });
});

Deno.test("rawCall() throws the handler's error with its code and message", async () => {
  await withServer({}, async (channel) => {
    await assert.rejects(channel.rawCall("/test.Echo/Fail", new Uint8Array(0)), {
      code: "notFound",
      message: "no such thing: ü%\n",
    });
    await assert.rejects(channel.rawCall("/test.Echo/None", new Uint8Array(0)), {
      code: "unimplemented",
      message: "unknown method None for service test.Echo",
    });
    await assert.rejects(channel.rawCall("/test.None/None", new Uint8Array(0)), {
      code: "unimplemented",
      message: "unknown service test.None",
    });
  });
});

Deno.test("createRpcServer() keeps the text of an unknown error to itself", async () => {
  const panics: unknown[] = [];
  const ends: string[] = [];
  const observer = {
    panicked: (_: unknown, error: unknown) => void panics.push(error),
    callEnded: (method: { name: string }, code: number) => void ends.push(`${method.name} ${code}`),
  };
  await withServer({ observer }, async (channel) => {
    await assert.rejects(channel.rawCall("/test.Echo/Panic", new Uint8Array(0)), {
      code: "internal",
      message: "internal error",
    });
  });
  assert.equal(panics.length, 1);
  assert.deepEqual(ends, ["Panic 13"]);
});

Deno.test("rawCall() ends at its deadline and when it is cancelled", async () => {
  await withServer({}, async (channel) => {
    await assert.rejects(
      channel.rawCall("/test.Echo/Hang", new Uint8Array(0), { timeoutMs: 30 }),
      { code: "deadlineExceeded" },
    );
    const controller = new AbortController();
    const call = channel.rawCall("/test.Echo/Hang", new Uint8Array(0), {
      signal: controller.signal,
    });
    controller.abort();
    await assert.rejects(call, { code: "cancelled" });
  });
});

Deno.test("rawStream() reads a stream of any length", async () => {
  await withServer({}, async (channel) => {
    for (const [times, size] of [[0, 4], [1, 4], [5000, 4], [300, 20_000]] as const) {
      const stream = channel.rawStream("/test.Echo/Count");
      await stream.send(count(times, size));
      stream.end();
      let seen = 0;
      for await (const message of stream.messages) {
        assert.equal(message.length, size);
        seen++;
      }
      assert.equal(seen, times);
    }
  });
});

Deno.test("rawStream() sends a stream and gets one reply", async () => {
  await withServer({}, async (channel) => {
    const stream = channel.rawStream("/test.Echo/Sum");
    for (let at = 0; at < 1000; at++) await stream.send(new Uint8Array(5000));
    stream.end();
    const replies: string[] = [];
    for await (const reply of stream.messages) replies.push(new TextDecoder().decode(reply));
    assert.deepEqual(replies, ["5000000"]);
  });
});

Deno.test("rawStream() carries messages both ways in turn", async () => {
  await withServer({}, async (channel) => {
    const stream = channel.rawStream("/test.Echo/Chat");
    for (let at = 0; at < 100; at++) {
      await stream.send(count(at));
      const { value } = await stream.messages.next();
      assert.deepEqual(value, count(at));
    }
    stream.end();
    assert.equal((await stream.messages.next()).done, true);
  });
});

Deno.test("createClient() calls the handlers of implementService()", async () => {
  const service = implementService(State, {
    get: (request, context) => {
      context.setTrailer("x-trailer", "yes");
      return { resource: { metadata: { id: request.id } } };
    },
    list: async function* ({ namespace }) {
      for (const id of ["a", "b"]) {
        yield await Promise.resolve({ resource: { metadata: { namespace, id } } });
      }
    },
  });
  await withServer({ services: [service] }, async (channel) => {
    const client = createClient(State, channel);
    let trailer: string | undefined;
    const reply = await client.get({ id: "one" }, {
      onTrailers: (trailers) => trailer = trailers.text("x-trailer"),
    });
    assert.equal(reply.resource?.metadata?.id, "one");
    assert.equal(trailer, "yes");
    const ids: (string | undefined)[] = [];
    for await (const { resource } of client.list({ namespace: "n" })) {
      ids.push(resource?.metadata?.id);
    }
    assert.deepEqual(ids, ["a", "b"]);
    await assert.rejects(client.destroy({}), {
      code: "unimplemented",
      message: `Method "Destroy" of cosi.resource.State is not implemented`,
    });
  });
});

Deno.test("createRpcServer() accepts compressed requests", async () => {
  await withServer({}, async (channel) => {
    const reply = await channel.rawCall("/test.Echo/Echo", new Uint8Array(100_000), {
      compress: true,
    });
    assert.equal(reply.length, 100_000);
  });
});

Deno.test("createRpcServer() keeps the order of requests of which some take long to decompress", async () => {
  await withServer({}, async (channel) => {
    const stream = channel.rawStream("/test.Echo/Chat", { compress: true });
    const sizes = [8_000_000, 10, 2_000_000, 600_000, 0, 7];
    for (const [at, size] of sizes.entries()) await stream.send(new Uint8Array(size), at % 4 !== 1);
    stream.end();
    const seen: number[] = [];
    for await (const message of stream.messages) seen.push(message.length);
    assert.deepEqual(seen, sizes);
    const reply = await channel.rawCall("/test.Echo/Echo", new Uint8Array(20_000_000), {
      compress: true,
    });
    assert.equal(reply.length, 20_000_000);
    await assert.rejects(
      channel.rawCall("/test.Echo/Echo", new Uint8Array(40_000_000), { compress: true }),
      { code: "resourceExhausted" },
    );
  });
});

Deno.test("createRpcServer() answers plain HTTP on the same port", async () => {
  const http = { "/healthz": () => ({ status: 200, contentType: "text/plain", body: "ok\n" }) };
  await withServer({ http }, async (channel, port) => {
    await channel.connect();
    const reply = await fetch(`http://127.0.0.1:${port}/healthz`);
    assert.equal(await reply.text(), "ok\n");
    const missing = await fetch(`http://127.0.0.1:${port}/none`);
    assert.equal(missing.status, 404);
    await missing.body?.cancel();
  });
});

Deno.test("onCancel() tells of a cancelled call and of a deadline, each callback once", async () => {
  const seen: string[] = [];
  const wake: (() => void)[] = [];
  const waiting = rawService("test.Wait", {
    Wait: {
      serverSink: async (request, context, sink) => {
        const name = new TextDecoder().decode(request);
        const over = new Promise<void>((resolve) => {
          context.onCancel(() => seen.push(`${name} first`));
          context.onCancel(resolve);
        });
        void sink.send(request);
        await over;
        context.onCancel(() => seen.push(`${name} late, cancelled: ${context.cancelled}`));
        wake.shift()?.();
      },
    },
  });
  await withServer({ services: [waiting] }, async (channel) => {
    for (const [name, options] of [["client", {}], ["deadline", { timeoutMs: 50 }]] as const) {
      const noticed = new Promise<void>((resolve) => wake.push(resolve));
      const stream = channel.rawStream("/test.Wait/Wait", options);
      await stream.send(text.encode(name));
      stream.end();
      assert.equal((await stream.messages.next()).value?.length, name.length);
      if (name === "client") stream.cancel();
      await assert.rejects(async () => {
        for await (const _ of stream.messages);
      });
      await noticed;
    }
  });
  assert.deepEqual(seen, [
    "client first",
    "client late, cancelled: true",
    "deadline first",
    "deadline late, cancelled: true",
  ]);
});
