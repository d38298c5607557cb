// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One side of `rpc_memory_test.ts`, in a process of its own, because memory is only comparable in
 * one that does nothing else. Needs the flag that exposes the collector.
 *
 * - `server` prints its two ports, plaintext and TLS, and tells its memory at `/memory`.
 * - `client PORT TLS_PORT KIND COUNT` opens so many idle things of a kind twice over and
 *   prints what the second time took, as {@linkcode Growth}; for `churn` it opens and closes them.
 *
 * @module
 */

import { join } from "node:path";
import { createLogger } from "../../base/log.ts";
import { type Channel, createChannel } from "../../rpc/client.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { rawService } from "../../rpc/service.ts";
import type { ByteStream } from "../../rpc/stream.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { createAuthority, issue } from "../../rpc/test_certificates.ts";
import { wrapTlsClient } from "../../rpc/tls.ts";
import { listenTls } from "../../rpc/tls_listener.ts";

/** Memory of a process in bytes: resident, and what its objects hold. */
export interface Memory {
  readonly rss: number;
  readonly live: number;
}

/** By how many bytes each side grew. */
export interface Growth {
  readonly server: Memory;
  readonly client: Memory;
}

const REPLY = new Uint8Array(32);
const REQUEST = new Uint8Array(60);
const STREAMS_PER_SESSION = 1000;
const LANES = 8;

function memory(): Memory {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("The collector is not exposed");
  gc();
  const { rss, heapUsed, external } = Deno.memoryUsage();
  return { rss, live: heapUsed + external };
}

async function serve(): Promise<void> {
  const service = rawService("test.Memory", {
    Get: { unary: () => REPLY },
    Hang: {
      serverSink: (_request, context, sink) => {
        void sink.send(REPLY);
        return new Promise((resolve) => context.onCancel(resolve));
      },
    },
  });
  const server = createRpcServer({
    services: [service],
    log: createLogger(),
    limits: { maxConnections: 20_000, maxConnectionsPerPeer: 20_000 },
    http: {
      "/memory": () => ({
        status: 200,
        contentType: "application/json",
        body: JSON.stringify(memory()),
      }),
    },
  });
  const plain = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const folder = await Deno.makeTempDir();
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  const { cert, key } = await issue(await createAuthority(), "CN=memory");
  await Deno.writeTextFile(certFile, cert);
  await Deno.writeTextFile(keyFile, key);
  const encrypted = listenTls({ hostname: "127.0.0.1", port: 0, certFile, keyFile });
  await Deno.remove(folder, { recursive: true });
  console.log(`${plain.port} ${encrypted.port}`);
  await Promise.all([server.serve(plain), server.serve(encrypted)]);
}

/** Everything that was opened, so that nobody collects it. */
const held: unknown[] = [];

function channelOver(dial: (signal: AbortSignal) => Promise<ByteStream>): Channel {
  return createChannel({ dial, authority: "memory" });
}

async function openStreams(open: () => Channel, count: number): Promise<void> {
  let channel = open();
  for (let at = 0; at < count; at++) {
    if (at % STREAMS_PER_SESSION === 0) held.push(channel = open());
    const stream = channel.rawStream("/test.Memory/Hang");
    void stream.send(REQUEST);
    stream.end();
    await stream.messages.next();
    held.push(stream, stream.messages.next());
  }
}

async function openSessions(open: () => Channel, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const channel = open();
    held.push(channel);
    await channel.rawCall("/test.Memory/Get", REQUEST);
  }
}

async function openAndClose(open: () => Channel, count: number): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let at = 0; at < count / LANES; at++) {
      const channel = open();
      await channel.rawCall("/test.Memory/Get", REQUEST);
      channel.close();
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

async function measure(port: number, tlsPort: number, kind: string, count: number): Promise<void> {
  const plain = () => channelOver((signal) => dialTcp({ hostname: "127.0.0.1", port, signal }));
  const encrypted = () =>
    channelOver(async (signal) => {
      const stream = await dialTcp({ hostname: "127.0.0.1", port: tlsPort, signal });
      return await wrapTlsClient(stream, { insecure: true });
    });
  const run = {
    streams: () => openStreams(plain, count),
    sessions: () => openSessions(plain, count),
    tls: () => openSessions(encrypted, count),
    churn: () => openAndClose(plain, count),
  }[kind];
  if (run === undefined) throw new Error(`There is no kind "${kind}"`);
  const both = async (): Promise<Growth> => {
    const reply = await fetch(`http://127.0.0.1:${port}/memory`, {
      headers: { connection: "close" },
    });
    return { server: await reply.json(), client: memory() };
  };
  // Compiled code and a heap that has grown come once in the life of a process.
  await run();
  const before = await both();
  await run();
  const after = await both();
  const side = (of: keyof Growth): Memory => ({
    rss: after[of].rss - before[of].rss,
    live: after[of].live - before[of].live,
  });
  console.log(JSON.stringify({ server: side("server"), client: side("client") } satisfies Growth));
  Deno.exit(0);
}

if (import.meta.main) {
  const [role, port, tlsPort, kind = "", count] = Deno.args;
  if (role === "server") await serve();
  else await measure(Number(port), Number(tlsPort), kind, Number(count));
}
