// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The way of every write: decide, make durable, make visible, publish, acknowledge.
 *
 * Writes that come while a batch is on its way to the store form the next batch. An ID with a write
 * on its way holds back further writes to it, so that each is decided on what the one before stored.
 *
 * @module
 */

import { CodedError, codeOf } from "../../base/errors.ts";
import { StringTable } from "../../base/string_table.ts";
import type { Store } from "../store/store.ts";
import type { KindTable } from "./kind_table.ts";
import type { RawResource } from "./raw_resource.ts";
import { settingOff } from "./slices.ts";

/** Decides on a write; returns what to store, `undefined` to remove, the stored one for no change. */
export type Decide = (stored: RawResource | undefined) => RawResource | undefined;

/** A decided change. */
export interface Change {
  readonly table: KindTable;
  readonly id: string;
  readonly stored: RawResource | undefined;
  readonly next: RawResource | undefined;
  revision: number;
}

interface Write {
  readonly table: KindTable;
  readonly id: string;
  readonly decide: Decide;
  resolve(next: RawResource | undefined): void;
  reject(error: unknown): void;
}

interface Pending extends Change {
  readonly write: Write;
}

/** Bounds of one batch, so that no commit takes long. */
const BATCH_LIMITS = { changes: 1024, bytes: 4 << 20 };

/** Writes that a store refused as a whole, and after which it goes on. */
const REFUSALS: ReadonlySet<string> = new Set([
  "resourceExhausted",
  "unavailable",
  "invalidArgument",
]);

/** Options of {@linkcode CommitQueue}. */
export interface CommitQueueOptions {
  readonly store: Store;
  /** The revision of the last change. */
  readonly revision: number;
  /** Makes changes visible and publishes them; in the order of their revisions. */
  readonly apply: (changes: readonly Change[]) => void;
  /** Is told once when the store is broken. */
  readonly onFailure: (error: unknown) => void;
}

/** Takes writes in and acknowledges them when they are durable. */
export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #revision: number;
  #pending: Pending[] = [];
  #running: Promise<void> | undefined;
  #acknowledged = Promise.resolve();
  #stopped: CodedError | undefined;
  /** Writes waiting for the one on its way, by kind and ID. */
  readonly #busy = new Map<KindTable, StringTable<Write[]>>();

  constructor(options: CommitQueueOptions) {
    this.#options = options;
    this.#revision = options.revision;
  }

  /** The revision of the last change that was decided. */
  get revision(): number {
    return this.#revision;
  }

  /** Makes a write; what it returns is there, or settles, when the write is durable and visible. */
  submit(
    table: KindTable,
    id: string,
    decide: Decide,
  ): RawResource | undefined | Promise<RawResource | undefined> {
    if (table.ephemeral || this.#options.store.immediate) return this.#writeNow(table, id, decide);
    return new Promise((resolve, reject) => {
      table.writers++;
      const write: Write = {
        table,
        id,
        decide,
        resolve(next) {
          table.writers--;
          resolve(next);
        },
        reject(error) {
          table.writers--;
          reject(error);
        },
      };
      const waiting = this.#busy.get(table)?.get(id);
      if (waiting === undefined) this.#begin(write);
      else waiting.push(write);
    });
  }

  /** A write that nothing has to be waited for; so none of its kind is ever on its way. */
  #writeNow(table: KindTable, id: string, decide: Decide): RawResource | undefined {
    if (this.#stopped !== undefined) throw this.#stopped;
    const stored = table.get(id);
    const next = decide(stored);
    if (next === stored) return next;
    this.#options.apply([{ table, id, stored, next, revision: ++this.#revision }]);
    return next;
  }

  /** Refuses further writes and settles when those on their way are done. */
  async close(): Promise<void> {
    this.#stopped ??= new CodedError("unavailable", "Cannot write: the state is closed");
    while (this.#running !== undefined) await this.#running;
    await this.#acknowledged;
  }

  /** Decides on a write; true when it is on its way to the store. */
  #begin(write: Write): boolean {
    const { table, id, decide } = write;
    const stored = table.get(id);
    let next: RawResource | undefined;
    try {
      if (this.#stopped !== undefined) throw this.#stopped;
      next = decide(stored);
    } catch (error) {
      write.reject(error);
      return false;
    }
    const change = { table, id, stored, next, revision: 0, write };
    if (next === stored) {
      write.resolve(next);
      return false;
    }
    this.#holdBack(table, id);
    this.#pending.push(change);
    if (this.#running === undefined) this.#running = this.#run();
    return true;
  }

  #holdBack(table: KindTable, id: string): void {
    let byId = this.#busy.get(table);
    if (byId === undefined) this.#busy.set(table, byId = new StringTable());
    if (byId.get(id) === undefined) byId.set(id, []);
  }

  /** Lets the writes go on that waited for one that is done. */
  #release(table: KindTable, id: string): void {
    const byId = this.#busy.get(table);
    const waiting = byId?.get(id);
    if (byId === undefined || waiting === undefined) return;
    for (let write = waiting.shift(); write !== undefined; write = waiting.shift()) {
      if (this.#begin(write)) return;
    }
    byId.delete(id);
    if (byId.size === 0) this.#busy.delete(table);
  }

  async #run(): Promise<void> {
    // A turn of the microtask queue lets the writers of one moment share the first batch.
    await undefined;
    while (this.#pending.length > 0) await this.#commit(this.#takeBatch());
    this.#running = undefined;
  }

  #takeBatch(): Pending[] {
    const limits = this.#options.store.batchLimits ?? BATCH_LIMITS;
    let bytes = 0;
    let count = 0;
    for (const { next } of this.#pending) {
      bytes += next?.messageSize ?? 0;
      if (count > 0 && (count === limits.changes || bytes > limits.bytes)) break;
      count++;
    }
    const batch = this.#pending.slice(0, count);
    this.#pending = this.#pending.slice(count);
    for (const change of batch) change.revision = ++this.#revision;
    return batch;
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    try {
      await this.#options.store.commit({
        revision: batch[batch.length - 1]?.revision ?? this.#revision,
        changes: batch.map(({ table, id, stored, next, revision }) => ({
          ref: { namespace: table.namespace, type: table.type, id },
          resource: next,
          revision,
          storedVersion: stored?.metadata.version ?? 0,
        })),
      });
    } catch (error) {
      // One change that the store cannot take must not cost the others of its batch.
      if (codeOf(error) === "invalidArgument" && batch.length > 1) {
        for (const change of batch) await this.#commit([change]);
      } else this.#failed(batch, error);
      return;
    }
    this.#options.apply(batch);
    this.#acknowledged = this.#acknowledge(batch, this.#acknowledged);
  }

  /** Tells the writers of a batch, while the next one is on its way already. */
  async #acknowledge(batch: readonly Pending[], before: Promise<void>): Promise<void> {
    await before;
    await settingOff(batch, ({ write, next, table, id }) => {
      write.resolve(next);
      this.#release(table, id);
    });
  }

  #failed(batch: readonly Pending[], error: unknown): void {
    if (!REFUSALS.has(codeOf(error) ?? "")) {
      const broken = new CodedError("unavailable", "Cannot write: the store of the state failed", {
        cause: error,
      });
      const first = this.#stopped === undefined;
      this.#stopped = broken;
      for (const { write } of this.#pending) write.reject(broken);
      batch = [...batch, ...this.#pending];
      this.#pending = [];
      if (first) this.#options.onFailure(error);
      error = broken;
    }
    for (const { write } of batch) write.reject(error);
    for (const { table, id } of batch) this.#release(table, id);
  }
}
