// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The SQLite file of a state: its layout and every access to it. Synchronous: it runs in a worker.
 *
 * IDs are stored as salted hashes: they name machines and clusters, and an encrypted state should not
 * tell them. Namespaces and types are plain.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { closeSync, fdatasyncSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { CodedError } from "../../base/errors.ts";
import { type Codec, KEY_CHECK } from "./codec.ts";
import { decodeNumber, encodeNumbers, kindKey } from "./numbers.ts";
import { createFile, explainSqliteError, FORMAT, openDatabase, openLog } from "./sqlite_open.ts";

/** Bytes kept of a hash: enough that two IDs never share them, and few in the index. */
const HASH_SIZE = 20;

/** A kind in the file. */
export interface KindRow {
  readonly namespace: string;
  readonly type: string;
  readonly revision: number;
}

/** One change, as the main thread sends it. */
export interface FileChange {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  /** The wire form, `undefined` to remove. */
  readonly wire: Uint8Array | undefined;
  readonly revision: number;
  /** Whether a record is there before. */
  readonly exists: boolean;
}

/** Changes that become durable together. */
export interface FileBatch {
  readonly changes: readonly FileChange[];
  readonly revision: number;
  readonly epochs: Uint8Array | undefined;
  readonly keyRotated: boolean;
}

/** An open state file. */
export class SqliteFile {
  readonly path: string;
  readonly #database: DatabaseSync;
  /** The write-ahead log. */
  readonly #log: number;
  readonly #codec: Codec;
  readonly #salt: Uint8Array;
  readonly #kinds = new Map<string, number>();
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #touch: StatementSync;
  readonly #setMeta: StatementSync;
  #rows: Iterator<Record<string, unknown>> | undefined;

  constructor(path: string, codec: Codec) {
    this.path = path;
    this.#codec = codec;
    createFile(path, codec);
    this.#database = openDatabase(path);
    try {
      this.#salt = this.#check();
      for (const row of this.#database.prepare("SELECT kind, namespace, type FROM kinds").all()) {
        const kind = { namespace: String(row.namespace), type: String(row.type) };
        this.#kinds.set(kindKey(kind), Number(row.kind));
      }
      const prepare = (sql: string): StatementSync => this.#database.prepare(sql);
      this.#begin = prepare("BEGIN IMMEDIATE");
      this.#commit = prepare("COMMIT");
      this.#put = prepare(
        "INSERT INTO resources (kind, id, value) VALUES (?, ?, ?) " +
          "ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value",
      );
      this.#remove = prepare("DELETE FROM resources WHERE kind = ? AND id = ?");
      this.#touch = prepare("UPDATE kinds SET revision = ?, count = count + ? WHERE kind = ?");
      this.#setMeta = prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
      this.#log = openLog(path);
    } catch (error) {
      this.#database.close();
      throw explainSqliteError("read", path, error);
    }
  }

  #meta(name: string): Uint8Array {
    const row = this.#database.prepare("SELECT value FROM meta WHERE name = ?").get(name);
    if (row?.value instanceof Uint8Array) return row.value;
    throw new CodedError(
      "dataLoss",
      `Cannot read state file "${this.path}": its entry "${name}" is missing; restore it from a copy`,
    );
  }

  /** Checks format and key; returns the salt of the IDs. */
  #check(): Uint8Array {
    const [format] = this.#meta("format");
    if (format !== FORMAT) {
      throw new CodedError(
        "failedPrecondition",
        `Cannot read state file "${this.path}": its format is ${format}, this program's ${FORMAT}`,
      );
    }
    try {
      this.#codec.open(this.#meta("keyCheck"));
    } catch (cause) {
      throw new CodedError(
        "failedPrecondition",
        `Cannot read state file "${this.path}": the key is not the one it was written with`,
        { cause },
      );
    }
    return this.#meta("salt");
  }

  #hash(id: string): Uint8Array {
    return createHash("sha256").update(id).update(this.#salt).digest().subarray(0, HASH_SIZE);
  }

  /** What is stored besides the resources. */
  head(): { revision: number; epochs: Uint8Array; kinds: KindRow[] } {
    const kinds = this.#database.prepare("SELECT namespace, type, revision FROM kinds").all();
    const revisions = kinds.map(({ revision }) => Number(revision));
    return {
      // A commit of changes leaves its revision with their kinds alone.
      revision: Math.max(decodeNumber(this.#meta("revision")), ...revisions),
      epochs: this.#meta("epochs"),
      kinds: kinds.map(({ namespace, type, revision }) => ({
        namespace: String(namespace),
        type: String(type),
        revision: Number(revision),
      })),
    };
  }

  /** The wire forms of the next resources, about `bytes` of them; empty at the end. */
  nextResources(bytes: number): Uint8Array[] {
    this.#rows ??= this.#database.prepare("SELECT kind, id, value FROM resources").iterate();
    const found: Uint8Array[] = [];
    for (let size = 0; size < bytes;) {
      const { done, value: row } = this.#rows.next();
      if (done) break;
      const wire = this.#open(row);
      size += wire.length;
      found.push(wire);
    }
    return found;
  }

  #open(row: Record<string, unknown>): Uint8Array {
    try {
      return this.#codec.open(row.value as Uint8Array);
    } catch (cause) {
      const [kind] = [...this.#kinds].find(([, number]) => number === row.kind) ?? ["unknown"];
      const id = (row.id as Uint8Array).slice(0, 8);
      throw new CodedError(
        "dataLoss",
        `Cannot read state file "${this.path}": a record of ${
          kind.replace("\0", "/")
        } with hashed ` +
          `ID ${id.toHex()}… cannot be opened; restore the file from a copy, nothing was changed`,
        { cause },
      );
    }
  }

  /** Fails unless as many resources are there as were written. */
  checkCounts(): void {
    const wrong = this.#database.prepare(`
      SELECT namespace, type, count AS expected, found FROM kinds LEFT JOIN
        (SELECT kind AS k, count(*) AS found FROM resources GROUP BY kind) ON k = kind
      WHERE count <> coalesce(found, 0)`).get();
    if (wrong === undefined) return;
    throw new CodedError(
      "dataLoss",
      `Cannot read state file "${this.path}": ${
        wrong.found ?? 0
      } of ${wrong.expected} resources of ` +
        `${wrong.namespace}/${wrong.type} are there; restore it from a copy, nothing was changed`,
    );
  }

  /** Makes changes durable, all or none. */
  commit({ changes, revision, epochs, keyRotated }: FileBatch): void {
    const kindsBefore = new Set(this.#kinds.keys());
    // What costs time is done before the file is locked.
    const records = changes.map(({ wire }) => wire && this.#codec.seal(wire));
    try {
      this.#begin.run();
      this.#write(changes, records);
      if (changes.at(-1)?.revision !== revision) {
        this.#setMeta.run("revision", encodeNumbers(revision));
      }
      if (epochs !== undefined) this.#setMeta.run("epochs", epochs);
      if (keyRotated) this.#setMeta.run("keyCheck", this.#codec.seal(KEY_CHECK));
      this.#commit.run();
    } catch (error) {
      for (const key of this.#kinds.keys()) if (!kindsBefore.has(key)) this.#kinds.delete(key);
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw explainSqliteError("write", this.path, error);
    }
    this.#synchronise();
  }

  /** Waits until what was committed is on the disk. */
  #synchronise(): void {
    try {
      fdatasyncSync(this.#log);
    } catch (cause) {
      // What is on the disk now nobody knows, whatever the disk says is the matter.
      throw new CodedError(
        "internal",
        `Cannot write state file "${this.path}": the disk did not take its write-ahead log`,
        { cause },
      );
    }
  }

  #write(changes: readonly FileChange[], records: readonly (Uint8Array | undefined)[]): void {
    const touched = new Map<number, { revision: number; delta: number }>();
    changes.forEach((change, index) => {
      const record = records[index];
      const kind = this.#kind(change);
      const id = this.#hash(change.id);
      if (record === undefined) this.#remove.run(kind, id);
      else this.#put.run(kind, id, record);
      const delta = record === undefined ? -1 : change.exists ? 0 : 1;
      const before = touched.get(kind)?.delta ?? 0;
      touched.set(kind, { revision: change.revision, delta: before + delta });
    });
    for (const [kind, { revision, delta }] of touched) this.#touch.run(revision, delta, kind);
  }

  #kind({ namespace, type }: FileChange): number {
    const key = kindKey({ namespace, type });
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const { lastInsertRowid } = this.#database.prepare(
      "INSERT INTO kinds (namespace, type, revision, count) VALUES (?, ?, 0, 0)",
    ).run(namespace, type);
    this.#kinds.set(key, Number(lastInsertRowid));
    return Number(lastInsertRowid);
  }

  /** Empties the write-ahead log; in the file itself what is overwritten is gone at once. */
  compact(): void {
    try {
      // VACUUM attaches a database, which the runtime forbids a process with few permissions.
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (error) {
      throw explainSqliteError("compact", this.path, error);
    }
  }

  close(): void {
    this.#database.close();
    closeSync(this.#log);
  }
}
