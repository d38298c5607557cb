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
import { decodeEpochs } from "./epochs.ts";
import { MailboxCaller, writeBatch } from "./sqlite_mailbox.ts";
import type {
  FileHead,
  PackedResources,
  SqliteFailure,
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
      const head = await worker.open(path, keys);
      return {
        revision: head.revision,
        epochs: decodeEpochs(head.epochs),
        kinds: head.kinds,
        resources: readResources(worker),
      };
    },
    commit: (batch) => worker.commit(batch),
    async compact() {
      await worker.ask({ op: "compact" });
    },
    close: () => worker.close(),
  };
}

/** The worker, asked one thing after the other; the answers come in the same order. */
class SqliteWorker {
  readonly #worker: Worker;
  readonly #mailbox = new MailboxCaller();
  readonly #waiting: PromiseWithResolvers<SqliteReply>[] = [];
  #committing: PromiseWithResolvers<string> | undefined;
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
    this.#committing?.reject(this.#broken);
  }

  async open(path: string, keys: StateKeys | undefined): Promise<FileHead> {
    return await this.ask({ op: "open", path, keys, memory: this.#mailbox.memory }) as FileHead;
  }

  async ask(request: SqliteRequest): Promise<(SqliteReply & { ok: true })["value"]> {
    if (this.#broken !== undefined) throw this.#broken;
    const waiting = Promise.withResolvers<SqliteReply>();
    this.#waiting.push(waiting);
    this.#worker.postMessage(request);
    this.#mailbox.notePosted();
    const reply = await waiting.promise;
    if (reply.ok) return reply.value;
    throw new CodedError(reply.code, reply.message);
  }

  /** Makes a batch durable. One at a time. */
  async commit(batch: StoreBatch): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    const memory = writeBatch(this.#mailbox.memory, batch);
    if (memory !== this.#mailbox.memory) {
      await this.ask({ op: "commit", memory });
      return;
    }
    const committing = this.#committing = Promise.withResolvers<string>();
    this.#mailbox.commit().then(committing.resolve, committing.reject);
    const reply = await committing.promise;
    this.#committing = undefined;
    if (reply === "") return;
    const { code, message }: SqliteFailure = JSON.parse(reply);
    throw new CodedError(code, message);
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
      resources.push(RawResource.fromMessage(wires, at, at + length));
      at += length;
    }
    yield resources;
  }
}
