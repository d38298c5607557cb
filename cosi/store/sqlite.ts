// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The store of one node: a SQLite file, kept by a worker.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { startWorker } from "../../base/worker.ts";
import { RawResource } from "../state/raw_resource.ts";
import type { StateKeys } from "./codec.ts";
import { decodeEpochs, encodeEpochs } from "./epochs.ts";
import type {
  FileHead,
  PackedBatch,
  PackedResources,
  SqliteReply,
  SqliteRequest,
} from "./sqlite_worker.ts";
import type { Store, StoreBatch } from "./store.ts";

/** Options of {@linkcode openSqliteStore}. */
export interface SqliteOptions {
  /** The file; it is created where there is none, its directory is not. */
  readonly path: string;
  /** The keys of the records; without them nothing is encrypted. */
  readonly keys?: StateKeys | undefined;
}

/** Opens a store on a SQLite file; the file is looked at when it is loaded. */
export async function openSqliteStore({ path, keys }: SqliteOptions): Promise<Store> {
  const worker = new SqliteWorker(
    await startWorker("sqlite", new URL("sqlite_worker.ts", import.meta.url)),
  );
  return {
    immediate: false,
    async load() {
      const head = await worker.ask({ op: "open", path, keys }) as FileHead;
      return {
        revision: head.revision,
        epochs: decodeEpochs(head.epochs),
        kinds: head.kinds,
        resources: readResources(worker),
      };
    },
    async commit(batch) {
      const packed = packBatch(batch);
      await worker.ask({ op: "commit", ...packed }, [packed.wires.buffer]);
    },
    async compact() {
      await worker.ask({ op: "compact" });
    },
    close: () => worker.close(),
  };
}

/** The worker, asked one thing after the other; the answers come in the same order. */
class SqliteWorker {
  readonly #worker: Worker;
  readonly #waiting: PromiseWithResolvers<SqliteReply>[] = [];
  #broken: Error | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<SqliteReply>) =>
      this.#waiting.shift()?.resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(
        new CodedError("internal", `The worker of the state file failed: ${event.message}`),
      );
    };
  }

  #fail(error: Error): void {
    this.#broken ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#broken);
  }

  async ask(
    request: SqliteRequest,
    transfer: Transferable[] = [],
  ): Promise<(SqliteReply & { ok: true })["value"]> {
    if (this.#broken !== undefined) throw this.#broken;
    const waiting = Promise.withResolvers<SqliteReply>();
    this.#waiting.push(waiting);
    this.#worker.postMessage(request, transfer);
    const reply = await waiting.promise;
    if (reply.ok) return reply.value;
    throw new CodedError(reply.code, reply.message);
  }

  async close(): Promise<void> {
    if (this.#broken === undefined) await this.ask({ op: "close" }).catch(() => {});
    this.#fail(new CodedError("unavailable", "The state file is closed"));
    this.#worker.terminate();
  }
}

async function* readResources(worker: SqliteWorker): AsyncIterable<readonly RawResource[]> {
  let next = worker.ask({ op: "next" });
  while (true) {
    const { lengths, wires } = await next as PackedResources;
    if (lengths.length === 0) return;
    // The worker opens the next records while this thread reads these.
    next = worker.ask({ op: "next" });
    next.catch(() => {});
    const resources: RawResource[] = [];
    let at = 0;
    for (const length of lengths) {
      resources.push(RawResource.fromMessage(wires.subarray(at, at + length)));
      at += length;
    }
    yield resources;
  }
}

function packBatch({ changes, revision, epochs, keyRotated = false }: StoreBatch): PackedBatch {
  const names: string[] = [];
  const numbers = new Float64Array(changes.length * 3);
  let size = 0;
  for (const { resource } of changes) size += resource?.wire.length ?? 0;
  const wires = new Uint8Array(size);
  let at = 0;
  changes.forEach((change, index) => {
    names.push(change.ref.namespace, change.ref.type, change.ref.id);
    numbers[index * 3] = change.revision;
    numbers[index * 3 + 1] = change.storedVersion > 0 ? 1 : 0;
    numbers[index * 3 + 2] = change.resource?.wire.length ?? -1;
    if (change.resource === undefined) return;
    wires.set(change.resource.wire, at);
    at += change.resource.wire.length;
  });
  return { revision, epochs: epochs && encodeEpochs(epochs), keyRotated, names, numbers, wires };
}
