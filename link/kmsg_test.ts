// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { systemClock } from "../base/clock.ts";
import { silentLogger } from "../base/log.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { dialTcp, listenTcp } from "../rpc/tcp.ts";
import { KERNEL_LOG_LIMITS, readLines, serveKernelLog } from "./kmsg.ts";

const encoder = new TextEncoder();

/** A stream that delivers the given pieces and then ends. */
function streamOf(pieces: readonly Uint8Array[]): ByteStream {
  const left = pieces.filter((piece) => piece.length > 0).map((piece) => piece.slice());
  return {
    read: (buffer) => {
      const piece = left.shift();
      if (piece === undefined) return Promise.resolve(null);
      const count = Math.min(piece.length, buffer.length);
      buffer.set(piece.subarray(0, count));
      if (count < piece.length) left.unshift(piece.subarray(count));
      return Promise.resolve(count);
    },
    write: (data) => Promise.resolve(data.length),
    closeWrite: () => Promise.resolve(),
    close: () => {},
  };
}

async function linesOf(pieces: readonly Uint8Array[], maximumBytes = 64): Promise<string[]> {
  return await Array.fromAsync(readLines(streamOf(pieces), maximumBytes));
}

Deno.test("readLines() splits at newlines wherever the pieces are cut", async () => {
  const bytes = encoder.encode('{"msg":"eins"}\n\n{"msg":"zwéi"}\r\nrest\nunfinished');
  const want = ['{"msg":"eins"}', '{"msg":"zwéi"}', "rest"];
  deepStrictEqual(await linesOf([bytes]), want);
  for (let size = 1; size <= 8; size++) {
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
    deepStrictEqual(await linesOf(pieces), want, `pieces of ${size}`);
  }
});

Deno.test("readLines() takes lines up to the limit and no longer ones", async () => {
  const line = "x".repeat(10_000);
  deepStrictEqual(await linesOf([encoder.encode(`${line}\n`)], 10_000), [line]);
  await rejects(linesOf([encoder.encode(`${line}y\n`)], 10_000));
  await rejects(linesOf([encoder.encode(line), encoder.encode(line)], 10_000));
});

interface Received {
  readonly lines: string[];
  readonly port: number;
  close(): Promise<void>;
}

function startReceiver(failures = 0): Received {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const lines: string[] = [];
  const serving = serveKernelLog(listener, {
    port: {
      machineOf: (address) => address === "127.0.0.1" ? "machine-1" : undefined,
      append: (machine, line) => {
        if (failures-- > 0) return Promise.reject(new Error("disk full"));
        lines.push(`${machine} ${line}`);
        return Promise.resolve();
      },
    },
    clock: { nowMs: systemClock.nowMs, sleep: () => Promise.resolve() },
    log: silentLogger,
  });
  return {
    lines,
    port: listener.port,
    close: async () => {
      listener.close();
      await serving;
    },
  };
}

async function send(port: number, text: string): Promise<void> {
  const stream = await dialTcp({ hostname: "127.0.0.1", port });
  await stream.write(encoder.encode(text));
  await stream.closeWrite();
  // The receiver closes once it has stored everything.
  strictEqual(await stream.read(new Uint8Array(1)), null);
  stream.close();
}

Deno.test("serveKernelLog() stores lines without the secrets of the command line", async () => {
  const receiver = startReceiver();
  await send(
    receiver.port,
    '{"msg":"a siderolink.api=grpc://x?jointoken=v1:abc&y=1 talos.config=https://u:p@h/c b"}\n',
  );
  await receiver.close();
  deepStrictEqual(receiver.lines, [
    'machine-1 {"msg":"a siderolink.api=grpc://x?jointoken=REDACTED&y=1 talos.config=REDACTED b"}',
  ]);
});

Deno.test("serveKernelLog() stores a line again until it is stored, in order", async () => {
  const receiver = startReceiver(3);
  await send(receiver.port, "one\ntwo\n");
  await receiver.close();
  deepStrictEqual(receiver.lines, ["machine-1 one", "machine-1 two"]);
});

Deno.test("serveKernelLog() takes only so many connections of one machine", async () => {
  const receiver = startReceiver();
  const open = await Promise.all(
    Array.from({ length: KERNEL_LOG_LIMITS.connectionsPerMachine }, async () => {
      const stream = await dialTcp({ hostname: "127.0.0.1", port: receiver.port });
      await stream.write(encoder.encode("x\n"));
      return stream;
    }),
  );
  const surplus = await dialTcp({ hostname: "127.0.0.1", port: receiver.port });
  strictEqual(await surplus.read(new Uint8Array(1)).catch(() => null), null);
  surplus.close();
  for (const stream of open) stream.close();
  await receiver.close();
});

Deno.test("serveKernelLog() ends a connection with a line that is too long, not the others", async () => {
  const receiver = startReceiver();
  const long = await dialTcp({ hostname: "127.0.0.1", port: receiver.port });
  const writing = (async () => {
    const block = encoder.encode("x".repeat(16 * 1024));
    for (let sent = 0; sent < 8; sent++) await long.write(block);
  })().catch(() => {});
  strictEqual(await long.read(new Uint8Array(1)).catch(() => null), null);
  await writing;
  long.close();
  await send(receiver.port, "fine\n");
  await receiver.close();
  deepStrictEqual(receiver.lines, ["machine-1 fine"]);
});
