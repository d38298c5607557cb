// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Makes and opens the SQLite file of a state, and tells what is wrong with one.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { linkSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { CodedError, type ErrorCode } from "../../base/errors.ts";
import { type Codec, KEY_CHECK } from "./codec.ts";

/** The layout of the schema; another number is refused. */
export const FORMAT = 1;

const SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
  CREATE TABLE kinds (
    kind INTEGER PRIMARY KEY, namespace TEXT NOT NULL, type TEXT NOT NULL,
    revision INTEGER NOT NULL, count INTEGER NOT NULL, UNIQUE (namespace, type));
  CREATE TABLE resources (
    kind INTEGER NOT NULL, id BLOB NOT NULL, value BLOB NOT NULL, UNIQUE (kind, id));
`;

/**
 * Pages of the log after which a commit takes them over into the file. Pages that change again and
 * again are written there once, so that fewer and longer takeovers cost less together.
 */
const LOG_PAGES = 4_000;

/** The pages, of 4 KiB with a head of 24 bytes each, behind the head of the log. */
const LOG_BYTES = 32 + LOG_PAGES * (4096 + 24);

/** Texts of node:sqlite by what they mean to us; its error codes are not set on all paths. */
const MEANINGS: readonly (readonly [RegExp, ErrorCode, string])[] = [
  [/locked|busy/i, "unavailable", "another process has it open; only one server may use it"],
  [/full/i, "resourceExhausted", "no space is left on its disk; free some"],
  [/readonly|read-only/i, "failedPrecondition", "it is read-only; give the server write access"],
  [
    /unable to open|ENOENT|ENOTDIR|EACCES|No such file/i,
    "failedPrecondition",
    "it or its directory cannot be opened; check the path",
  ],
  [
    /not a database|malformed|corrupt/i,
    "dataLoss",
    "it is damaged; restore it from a copy, nothing was changed",
  ],
];

/** Turns an error of SQLite into one that says what to do. */
export function explainSqliteError(doing: string, path: string, cause: unknown): CodedError {
  if (cause instanceof CodedError) return cause;
  const text = cause instanceof Error ? cause.message : String(cause);
  const meaning = MEANINGS.find(([pattern]) => pattern.test(text));
  return new CodedError(
    meaning?.[1] ?? "internal",
    `Cannot ${doing} state file "${path}": ${meaning?.[2] ?? "SQLite failed"}`,
    { cause },
  );
}

/**
 * Opens the database for this process alone. A commit is on the disk once {@linkcode openLog}'s file
 * is synchronised after it.
 */
export function openDatabase(path: string): DatabaseSync {
  try {
    allocateLog(path);
    const database = new DatabaseSync(path);
    try {
      database.exec(`
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
        PRAGMA secure_delete = ON;
        PRAGMA wal_autocheckpoint = ${LOG_PAGES};
        BEGIN IMMEDIATE; COMMIT;
      `);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  } catch (error) {
    throw explainSqliteError("open", path, error);
  }
}

/**
 * Opens the write-ahead log of an open database, to wait for the disk after each commit. SQLite as it
 * is built into the runtime would do that with `fsync` (`synchronous = FULL`), which writes the time
 * of the change too; `fdatasync` on a log of its full length writes the log and nothing else. SQLite
 * itself synchronises at checkpoints.
 *
 * The file must stay open as long as the database; SQLite's locks are on another file.
 */
export function openLog(path: string): number {
  try {
    return openSync(`${path}-wal`, "r+");
  } catch (error) {
    throw explainSqliteError("open", path, error);
  }
}

/**
 * Gives a new write-ahead log its full length: appending to a file takes the disk a third longer than
 * overwriting it. SQLite takes zeros for an empty log. Linking the finished file into place never
 * touches a log that another process may have begun.
 */
function allocateLog(path: string): void {
  const log = `${path}-wal`;
  if (statSync(log, { throwIfNoEntry: false }) !== undefined) return;
  const draft = `${log}.new`;
  try {
    writeFileSync(draft, new Uint8Array(LOG_BYTES), { flush: true });
    linkSync(draft, log);
  } catch {
    // Whatever is the matter, opening the database tells it better.
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Creates the file where there is none, under another name first: a half-made one is no state. */
export function createFile(path: string, codec: Codec): void {
  let size: number | undefined;
  try {
    size = statSync(path, { throwIfNoEntry: false })?.size;
  } catch (error) {
    throw explainSqliteError("open", path, error);
  }
  if (size === 0) {
    throw new CodedError(
      "dataLoss",
      `Cannot open state file "${path}": it is empty, as a state never is; restore it from a copy, ` +
        "or remove it to start with a new state",
    );
  }
  if (size !== undefined) return;
  const draft = `${path}.new`;
  try {
    rmSync(draft, { force: true });
    const database = new DatabaseSync(draft);
    try {
      database.exec(`PRAGMA synchronous = FULL; BEGIN; ${SCHEMA}`);
      const set = database.prepare("INSERT INTO meta (name, value) VALUES (?, ?)");
      set.run("format", Uint8Array.of(FORMAT));
      set.run("salt", randomBytes(16));
      set.run("keyCheck", codec.seal(KEY_CHECK));
      set.run("revision", new Uint8Array(8));
      set.run("epochs", new Uint8Array(0));
      database.exec("COMMIT");
    } finally {
      database.close();
    }
    renameSync(draft, path);
  } catch (error) {
    throw explainSqliteError("create", path, error);
  }
}
