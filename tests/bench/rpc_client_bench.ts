// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Measures the transport's client beside that of grpc-js, against one and the same server, and the
 * memory of its idle sessions.
 *
 * @module
 */

import * as grpc from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { type Channel, createChannel } from "../../rpc/client.ts";
import type { ByteStream } from "../../rpc/stream.ts";
import { dialTcp, dialUnix } from "../../rpc/tcp.ts";
import { wrapTlsClient } from "../../rpc/tls.ts";
import { endChild } from "../child_process.ts";
import { median, report } from "./figures.ts";

const SERVER = new URL("./rpc_bench_server.ts", import.meta.url).pathname;
const GET = "/bench.Rpc/Get";
const ROUND_MS = 2000;
const ROUNDS = 3;
const MESSAGES = 1_000_000;
const SESSIONS = 3000;

type Call = () => Promise<unknown>;

/** Calls a second with so many of them in flight. */
async function rate(call: Call, inFlight: number): Promise<number> {
  let calls = 0;
  const end = performance.now() + ROUND_MS;
  await Promise.all(Array.from({ length: inFlight }, async () => {
    for (; performance.now() < end; calls++) await call();
  }));
  return calls / ROUND_MS * 1000;
}

async function withServer(
  args: readonly string[],
  run: (port: number) => Promise<void>,
): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", SERVER, ...args],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  try {
    const { value } = await reader.read();
    await run(Number(new TextDecoder().decode(value)));
  } finally {
    await reader.cancel();
    await endChild(child, "SIGKILL");
  }
}

function channelOver(dial: (signal: AbortSignal) => Promise<ByteStream>): Channel {
  return createChannel({ dial, authority: "bench" });
}

async function compareUnary(port: number, unix: string): Promise<void> {
  const request = new Uint8Array(60);
  const own = channelOver((signal) => dialTcp({ hostname: "127.0.0.1", port, signal }));
  const overUnix = channelOver((signal) => dialUnix(unix, { signal }));
  const library = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const clients: Readonly<Record<string, Call>> = {
    "own": () => own.rawCall(GET, request),
    "own, Unix socket": () => overUnix.rawCall(GET, request),
    "grpc-js": () =>
      new Promise((resolve, reject) => {
        library.makeUnaryRequest(
          GET,
          Buffer.from,
          (bytes: Buffer) => bytes,
          request,
          (error, reply) => error === null ? resolve(reply) : reject(error),
        );
      }),
  };
  for (const inFlight of [1, 64]) {
    const rates = new Map<string, number[]>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, call] of Object.entries(clients)) {
        rates.set(name, [...rates.get(name) ?? [], await rate(call, inFlight)]);
      }
    }
    for (const [name, values] of rates) {
      report(`client, unary, ${inFlight} in flight: ${name}`, median(values), "1/s");
    }
  }
  await readStream(own);
  own.close();
  overUnix.close();
  library.close();
}

async function readStream(channel: Channel): Promise<void> {
  const stream = channel.rawStream("/bench.Rpc/Count");
  const request = new Uint8Array(4);
  new DataView(request.buffer).setUint32(0, MESSAGES);
  const start = performance.now();
  await stream.send(request);
  stream.end();
  let count = 0;
  for await (const _ of stream.messages) count++;
  const seconds = (performance.now() - start) / 1000;
  report("client, stream of 1,000,000 messages of 32 bytes: own", count / seconds, "1/s");
}

/** Memory of this process without garbage; the runtime has the collector at hand by its flag. */
function residentBytes(): number {
  (globalThis as { gc?: () => void }).gc?.();
  return Deno.memoryUsage().rss;
}

/** Memory of this process for each idle session that has made a call. */
async function idleSessions(name: string, open: () => Channel): Promise<void> {
  const channels: Channel[] = [];
  const add = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) {
      const channel = open();
      channels.push(channel);
      await channel.rawCall(GET, new Uint8Array(60));
    }
  };
  await add(100);
  // Compiled code and a heap that has grown are not what is asked for here.
  for (let at = 0; at < 20_000; at++) await channels[at % 100]?.rawCall(GET, new Uint8Array(60));
  const before = residentBytes();
  await add(SESSIONS);
  const grown = residentBytes() - before;
  report(`client, ${SESSIONS} idle sessions: ${name}`, grown / 1024 / SESSIONS, "KiB each");
  for (const channel of channels) channel.close();
}

async function main(unix: string, only: string | undefined): Promise<void> {
  // Memory is only comparable in a process that has done nothing else, so each kind gets its own.
  if (only === "plain") {
    await withServer(
      ["own"],
      (port) =>
        idleSessions(
          "plaintext",
          () => channelOver((signal) => dialTcp({ hostname: "127.0.0.1", port, signal })),
        ),
    );
  } else if (only === "tls") {
    await withServer(
      ["tls"],
      (port) =>
        idleSessions(
          "TLS",
          () =>
            channelOver(async (signal) =>
              await wrapTlsClient(await dialTcp({ hostname: "127.0.0.1", port, signal }), {
                insecure: true,
              })
            ),
        ),
    );
  } else {
    await withServer(["own"], (port) => withServer(["own", unix], () => compareUnary(port, unix)));
    for (const kind of ["plain", "tls"]) {
      const { success } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--v8-flags=--expose-gc", new URL(import.meta.url).pathname, kind],
      }).spawn().status;
      if (!success) throw new Error(`Cannot measure the idle sessions: ${kind}`);
    }
  }
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir();
  try {
    await main(join(folder, "rpc.sock"), Deno.args[0]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
