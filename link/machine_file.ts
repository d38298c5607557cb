// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The SQLite file of the machine store: tables, sizes and the removal of the oldest.
 *
 * @module
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { CodedError } from "../base/errors.ts";

/** A stored line. */
export interface StoredLine {
  readonly number: number;
  readonly record: Uint8Array;
}

/** The file. All calls are synchronous; each takes well under a millisecond. */
export interface MachineFile {
  /** Runs changes that become durable together or not at all. */
  atomically<T>(work: () => T): T;
  hasEvent(machine: string, id: string): boolean;
  /** False for an event that is there already. */
  insertEvent(
    machine: string,
    nowMs: number,
    id: string,
    typeUrl: string,
    record: Uint8Array,
  ): boolean;
  /** False for a line that is there already, told by its key. */
  insertLine(machine: string, nowMs: number, key: string | null, record: Uint8Array): boolean;
  /** Removes the oldest records, of one machine or of all, until they fit; returns how many. */
  trim(maximumBytes: number, machine?: string): number;
  /** Removes up to `limit` of the records that came before a time; returns how many. */
  removeOlderThan(timeMs: number, limit: number): number;
  /** The number after which the last `count` lines come; 0 for all lines when it is negative. */
  numberBeforeTail(machine: string, count: number): number;
  lastNumber(machine: string): number;
  readLines(machine: string, after: number, upTo: number, count: number): readonly StoredLine[];
  close(): void;
}

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS records (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    machine TEXT NOT NULL,
    received_ms INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    record_key TEXT,
    type_url TEXT,
    record BLOB NOT NULL
  );
  CREATE INDEX IF NOT EXISTS records_by_machine ON records (machine, number);
  CREATE INDEX IF NOT EXISTS records_by_kind ON records (machine, kind, number);
  CREATE INDEX IF NOT EXISTS records_by_time ON records (received_ms);
  CREATE UNIQUE INDEX IF NOT EXISTS records_once ON records (machine, kind, record_key)
    WHERE record_key IS NOT NULL;
  CREATE TABLE IF NOT EXISTS sizes (machine TEXT PRIMARY KEY, bytes INTEGER NOT NULL);
`;

const EVENT = 0;
const LINE = 1;

/** What a record takes in the file beside its content, roughly. */
const OVERHEAD_BYTES = 100;

/** Gives rows of {@linkcode SizedRow}. */
const SELECT_SIZED =
  `SELECT number, machine, LENGTH(record) + ${OVERHEAD_BYTES} AS bytes FROM records`;

/** Records that are looked at in one step of a removal. */
const STEP = 100;

/** Opens the file and creates it, readable for its owner alone, where there is none. */
export function openMachineFile(path: string): MachineFile {
  return new SqliteMachineFile(openDatabase(path));
}

function openDatabase(path: string): DatabaseSync {
  try {
    if (path !== ":memory:") {
      // SQLite gives its companion files the mode of the main one.
      Deno.openSync(path, { append: true, create: true, mode: 0o600 }).close();
    }
    const database = new DatabaseSync(path);
    database.exec(SCHEMA);
    return database;
  } catch (cause) {
    throw new CodedError(
      "unavailable",
      `Cannot open machine store "${path}": check machineStore.path and its permissions`,
      { cause },
    );
  }
}

interface SizedRow {
  readonly number: number;
  readonly machine: string;
  readonly bytes: number;
}

class SqliteMachineFile implements MachineFile {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #totalBytes: number;

  constructor(database: DatabaseSync) {
    this.#database = database;
    const sum = this.#prepare("SELECT COALESCE(SUM(bytes), 0) AS bytes FROM sizes").get();
    this.#totalBytes = Number(sum?.bytes ?? 0);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }

  atomically<T>(work: () => T): T {
    const before = this.#totalBytes;
    this.#database.exec("BEGIN");
    try {
      const result = work();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      this.#totalBytes = before;
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  hasEvent(machine: string, id: string): boolean {
    return this.#prepare(
      "SELECT 1 FROM records WHERE machine = ? AND kind = ? AND record_key = ?",
    ).get(machine, EVENT, id) !== undefined;
  }

  insertEvent(
    machine: string,
    nowMs: number,
    id: string,
    typeUrl: string,
    record: Uint8Array,
  ): boolean {
    return this.#insert(machine, nowMs, EVENT, id, typeUrl, record);
  }

  insertLine(machine: string, nowMs: number, key: string | null, record: Uint8Array): boolean {
    return this.#insert(machine, nowMs, LINE, key, null, record);
  }

  #insert(
    machine: string,
    nowMs: number,
    kind: number,
    key: string | null,
    typeUrl: string | null,
    record: Uint8Array,
  ): boolean {
    const { changes } = this.#prepare(
      "INSERT OR IGNORE INTO records (machine, received_ms, kind, record_key, type_url, record) " +
        "VALUES (?, ?, ?, ?, ?, ?)",
    ).run(machine, nowMs, kind, key, typeUrl, record);
    if (Number(changes) === 0) return false;
    this.#resize(machine, record.length + OVERHEAD_BYTES);
    return true;
  }

  #resize(machine: string, bytes: number): void {
    this.#prepare(
      "INSERT INTO sizes VALUES (?, ?) ON CONFLICT (machine) DO UPDATE SET bytes = bytes + excluded.bytes",
    ).run(machine, bytes);
    this.#totalBytes += bytes;
  }

  trim(maximumBytes: number, machine?: string): number {
    let size = machine === undefined ? this.#totalBytes : this.#sizeOf(machine);
    let removed = 0;
    while (size > maximumBytes) {
      const oldest = this.#oldest(machine);
      if (oldest.length === 0) break;
      for (const row of oldest) {
        if (size <= maximumBytes) break;
        this.#remove(row);
        size -= row.bytes;
        removed += 1;
      }
    }
    return removed;
  }

  #sizeOf(machine: string): number {
    const row = this.#prepare("SELECT bytes FROM sizes WHERE machine = ?").get(machine);
    return Number(row?.bytes ?? 0);
  }

  #oldest(machine: string | undefined): readonly SizedRow[] {
    const rows = machine === undefined
      ? this.#prepare(`${SELECT_SIZED} ORDER BY number LIMIT ${STEP}`).all()
      : this.#prepare(
        `${SELECT_SIZED} WHERE machine = ? ORDER BY number LIMIT ${STEP}`,
      ).all(machine);
    return rows as unknown as readonly SizedRow[];
  }

  #remove({ number, machine, bytes }: SizedRow): void {
    this.#prepare("DELETE FROM records WHERE number = ?").run(number);
    this.#resize(machine, -bytes);
  }

  removeOlderThan(timeMs: number, limit: number): number {
    const rows = this.#prepare(
      `${SELECT_SIZED} WHERE received_ms < ? ORDER BY received_ms LIMIT ?`,
    ).all(timeMs, limit) as unknown as readonly SizedRow[];
    rows.forEach((row) => this.#remove(row));
    return rows.length;
  }

  numberBeforeTail(machine: string, count: number): number {
    if (count < 0) return 0;
    const row = this.#prepare(
      "SELECT number FROM records WHERE machine = ? AND kind = ? ORDER BY number DESC LIMIT 1 OFFSET ?",
    ).get(machine, LINE, count);
    return Number(row?.number ?? 0);
  }

  lastNumber(machine: string): number {
    const row = this.#prepare(
      "SELECT MAX(number) AS number FROM records WHERE machine = ? AND kind = ?",
    ).get(machine, LINE);
    return Number(row?.number ?? 0);
  }

  readLines(machine: string, after: number, upTo: number, count: number): readonly StoredLine[] {
    return this.#prepare(
      "SELECT number, record FROM records " +
        "WHERE machine = ? AND kind = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?",
    ).all(machine, LINE, after, upTo, count) as unknown as readonly StoredLine[];
  }

  close(): void {
    this.#database.close();
  }
}
