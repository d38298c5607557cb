// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Events and kernel logs of machines in one SQLite file, apart from the state.
 *
 * What is kept is bounded by age, by size of one machine and by size in total; the oldest goes first.
 *
 * @module
 */

import { setImmediate } from "node:timers/promises";
import type { Clock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";
import type { Secret } from "../base/redact.ts";
import { createLineFeeds } from "./line_feeds.ts";
import { openMachineFile } from "./machine_file.ts";
import { createRecordCipher } from "./record_cipher.ts";

/** Why a record was removed. */
export type RemovalCause = "age" | "machineSize" | "totalSize";

/** Options of {@linkcode openMachineStore}. */
export interface MachineStoreOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  /** How long a record is kept after it came, in ms. */
  readonly retentionMs: number;
  /** How much is kept of one machine, in bytes. */
  readonly bytesPerMachine: number;
  /** How much is kept of all machines, in bytes. */
  readonly bytesInTotal: number;
  /** Seals what is stored; absent for a store that is not encrypted. */
  readonly key?: Secret<Uint8Array> | undefined;
  /** Keys before that one, which only read what was sealed with them. */
  readonly previous?: readonly Secret<Uint8Array>[] | undefined;
  readonly clock: Clock;
  /** Counts what was removed. */
  readonly onRemoved: (cause: RemovalCause, count: number) => void;
}

/** Which lines {@linkcode MachineStore.readLog} gives. */
export interface ReadLogOptions {
  /** So many of the last lines; all of them when negative. */
  readonly tailLines: number;
  /** Goes on with new lines until the signal aborts. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
}

/** The store. */
export interface MachineStore {
  hasEvent(machine: string, id: string): Promise<boolean>;
  /** Stores an event; one with an ID that the machine sent before is not stored again. */
  putEvent(machine: string, id: string, typeUrl: string, value: Uint8Array): Promise<void>;
  /** Stores a line; one with the `seq` and `clock` of a line before it is not stored again. */
  putLogLine(machine: string, line: string): Promise<void>;
  /**
   * The lines of a machine's kernel log, oldest first.
   *
   * @throws CodedError `resourceExhausted` for a reader that falls too far behind.
   */
  readLog(machine: string, options: ReadLogOptions): AsyncIterable<string>;
  /** Removes what is older than the retention. */
  expire(): Promise<void>;
  close(): void;
}

/** Lines that are read from the file at once. */
const PAGE_LINES = 1_000;

/** Expired records that are removed at once. */
const EXPIRE_RECORDS = 100;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Opens the store and creates its file, readable for its owner alone, where there is none. */
export function openMachineStore(options: MachineStoreOptions): MachineStore {
  const { clock, onRemoved, retentionMs } = options;
  const file = openMachineFile(options.path);
  const cipher = createRecordCipher(options.key, options.previous);
  const feeds = createLineFeeds();
  let isClosed = false;
  const trim = (machine: string): void => {
    const ofMachine = file.trim(options.bytesPerMachine, machine);
    if (ofMachine > 0) onRemoved("machineSize", ofMachine);
    const ofAll = file.trim(options.bytesInTotal);
    if (ofAll > 0) onRemoved("totalSize", ofAll);
  };
  return {
    hasEvent: (machine, id) => Promise.try(() => file.hasEvent(machine, id)),
    putEvent: (machine, id, typeUrl, value) =>
      Promise.try(() =>
        file.atomically(() => {
          const record = cipher.seal(value);
          if (file.insertEvent(machine, clock.nowMs(), id, typeUrl, record)) trim(machine);
        })
      ),
    putLogLine: (machine, line) =>
      Promise.try(() => {
        const isNew = file.atomically(() => {
          const record = cipher.seal(encoder.encode(line));
          const isInserted = file.insertLine(machine, clock.nowMs(), lineKey(line), record);
          if (isInserted) trim(machine);
          return isInserted;
        });
        if (isNew) feeds.offer(machine, line);
      }),
    readLog: async function* (machine, { tailLines, follow, signal }) {
      // The feed opens first: a line that comes while the file is read is in the one or the other.
      using feed = follow ? feeds.open(machine) : undefined;
      let after = file.numberBeforeTail(machine, tailLines);
      const last = file.lastNumber(machine);
      while (after < last && !signal.aborted) {
        const page = file.readLines(machine, after, last, PAGE_LINES);
        for (const { record } of page) yield decoder.decode(cipher.open(record));
        after = page.at(-1)?.number ?? last;
      }
      if (feed !== undefined) yield* feed.lines(signal);
    },
    expire: async () => {
      const timeMs = clock.nowMs() - retentionMs;
      while (!isClosed) {
        const count = file.atomically(() => file.removeOlderThan(timeMs, EXPIRE_RECORDS));
        if (count > 0) onRemoved("age", count);
        if (count < EXPIRE_RECORDS) return;
        // The thread serves everything else of the server too.
        await setImmediate();
      }
    },
    close: () => {
      isClosed = true;
      file.close();
    },
  };
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

/** A store for a server without a tunnel, to which nobody reports. */
export function noMachineStore(): Pick<MachineStore, "readLog"> {
  return {
    readLog: () => {
      throw new CodedError("unavailable", "Cannot read logs: the tunnel is disabled");
    },
  };
}
