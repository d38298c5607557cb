// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Events and kernel logs of machines in one SQLite file, apart from the state.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";

/** Options of {@linkcode openMachineStore}. */
export interface MachineStoreOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  /** How long a record is kept after it came, in ms. */
  readonly retentionMs: number;
  readonly clock: Clock;
}

/** The store. */
export interface MachineStore {
  /** Stores an event; one with an ID that the machine sent before is not stored again. */
  putEvent(machine: string, id: string, typeUrl: string, value: Uint8Array): Promise<void>;
  /** Stores a line; one with the `seq` and `clock` of a line before it is not stored again. */
  putLogLine(machine: string, line: string): Promise<void>;
  /** Removes what is older than the retention. */
  expire(): Promise<void>;
  close(): void;
}

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS events (
    machine TEXT NOT NULL, id TEXT NOT NULL, received_ms INTEGER NOT NULL,
    type_url TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (machine, id)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS events_by_time ON events (received_ms);
  CREATE TABLE IF NOT EXISTS log_lines (
    number INTEGER PRIMARY KEY, machine TEXT NOT NULL, received_ms INTEGER NOT NULL,
    line_key TEXT, line TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS log_lines_by_machine ON log_lines (machine, number);
  CREATE INDEX IF NOT EXISTS log_lines_by_time ON log_lines (received_ms);
  CREATE UNIQUE INDEX IF NOT EXISTS log_lines_once ON log_lines (machine, line_key)
    WHERE line_key IS NOT NULL;
`;

/** Opens the store and creates its file, readable for its owner alone, where there is none. */
export function openMachineStore({ path, retentionMs, clock }: MachineStoreOptions): MachineStore {
  const database = openFile(path);
  const event = database.prepare("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?)");
  const line = database.prepare(
    "INSERT OR IGNORE INTO log_lines (machine, received_ms, line_key, line) VALUES (?, ?, ?, ?)",
  );
  const expired = ["events", "log_lines"].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE received_ms < ?`)
  );
  return {
    putEvent: (machine, id, typeUrl, value) =>
      Promise.try(() => void event.run(machine, id, clock.nowMs(), typeUrl, value)),
    putLogLine: (machine, text) =>
      Promise.try(() => void line.run(machine, clock.nowMs(), lineKey(text), text)),
    expire: () =>
      Promise.try(() => expired.forEach((each) => each.run(clock.nowMs() - retentionMs))),
    close: () => database.close(),
  };
}

function openFile(path: string): DatabaseSync {
  try {
    // SQLite gives its companion files the mode of the main one.
    if (path !== ":memory:") {
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

/** What tells a line from all others of its machine: a reconnect may deliver it again. */
function lineKey(text: string): string | null {
  try {
    const { seq, clock } = JSON.parse(text) as { seq?: unknown; clock?: unknown };
    return typeof seq === "number" && typeof clock === "number" ? `${seq}/${clock}` : null;
  } catch {
    return null;
  }
}
