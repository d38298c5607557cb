// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A small program that touches everything the real one needs of its runtime: a worker that is this
 * same module, SQLite in it, UDP, a TCP listener, an asset. Prints one JSON object.
 *
 * @module
 */

import { createServer } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { startWorker, WORKER_READY } from "../../base/worker.ts";
import asset from "./packaging_asset.txt" with { type: "text" };

/** What the worker is asked and answers. */
interface Answer {
  readonly rows: number;
}

/** Writes into a database and counts what it holds. */
function runWorker(): void {
  const scope = globalThis as unknown as {
    postMessage(message: unknown): void;
    onmessage: (event: MessageEvent<string>) => void;
  };
  scope.onmessage = ({ data }) => {
    const database = new DatabaseSync(data);
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a BLOB); INSERT INTO t VALUES (1)");
    const rows = database.prepare("SELECT count(*) AS rows FROM t").get() as unknown as Answer;
    database.close();
    scope.postMessage({ rows: rows.rows });
  };
  scope.postMessage(WORKER_READY);
}

async function askWorker(file: string): Promise<number> {
  const worker = await startWorker("sqlite", new URL(import.meta.url));
  const { promise, resolve } = Promise.withResolvers<Answer>();
  worker.onmessage = ({ data }: MessageEvent<Answer>) => resolve(data);
  worker.postMessage(file);
  const { rows } = await promise;
  worker.terminate();
  return rows;
}

async function exchangeDatagram(): Promise<string> {
  const receiver = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  const sender = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
  await sender.send(new TextEncoder().encode("datagram"), receiver.addr);
  const [data] = await receiver.receive();
  receiver.close();
  sender.close();
  return new TextDecoder().decode(data);
}

async function exchangeStream(): Promise<string> {
  const server = createServer((socket) => socket.end("stream"));
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("No address");
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: address.port });
  const text = await new Response(connection.readable).text();
  server.close();
  return text;
}

/** The states of permissions, and whether what they forbid is denied. */
function describePermissions(): Record<string, string> {
  const names = ["net", "read", "write", "env", "run", "ffi", "sys"] as const;
  return Object.fromEntries(
    names.map((name) => [name, Deno.permissions.querySync({ name }).state]),
  );
}

if ("WorkerGlobalScope" in globalThis) {
  runWorker();
} else {
  const file = `${Deno.args[0]}/packaging.sqlite`;
  console.log(JSON.stringify({
    args: Deno.args.slice(1),
    asset: asset.trim(),
    datagram: await exchangeDatagram(),
    permissions: describePermissions(),
    rows: await askWorker(file),
    stream: await exchangeStream(),
    updateCheck: Deno.env.get("DENO_NO_UPDATE_CHECK") ?? "",
  }));
}
