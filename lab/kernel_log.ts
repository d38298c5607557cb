// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The kernel log of a machine: kept for dmesg, and sent to the server as JSON, one object a line.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { writeAll } from "../rpc/write_all.ts";
import { createSignal, type Signal } from "./signal.ts";

/** How severe a line is, in the words of the wire. */
export type KernelLevel = "error" | "warn" | "info" | "debug";

/** One line. */
export interface KernelLine {
  /** Counts from 0 in each boot. */
  readonly seq: number;
  readonly timeMs: number;
  /** Since boot, in microseconds. */
  readonly clockUs: number;
  readonly level: KernelLevel;
  readonly facility: "kern" | "user";
  readonly message: string;
}

/** The lines of one boot, the last {@linkcode CAPACITY} of them. */
export interface KernelLog {
  write(level: KernelLevel, message: string, facility?: "kern" | "user"): void;
  lines(): readonly KernelLine[];
  readonly changed: Signal;
}

const CAPACITY = 500;

/** Priorities of syslog by level. */
const PRIORITY: Readonly<Record<KernelLevel, string>> = {
  error: "err",
  warn: "warning",
  info: "info",
  debug: "debug",
};

/** A node gives up a write after this time and pauses for {@linkcode RETRY_MS}. */
const SEND_TIMEOUT_MS = 5_000;
const RETRY_MS = 1_000;

/** Creates an empty log. */
export function createKernelLog(nowMs: () => number): KernelLog {
  const startedMs = nowMs();
  const kept: KernelLine[] = [];
  const changed = createSignal();
  let seq = 0;
  return {
    write: (level, message, facility = "user") => {
      const timeMs = nowMs();
      kept.push({
        seq: seq++,
        timeMs,
        clockUs: Math.round((timeMs - startedMs) * 1000),
        level,
        facility,
        message,
      });
      if (kept.length > CAPACITY) kept.shift();
      changed.fire();
    },
    lines: () => kept,
    changed,
  };
}

/** A line as dmesg prints it. */
export function formatKernelLine({ clockUs, facility, level, message }: KernelLine): string {
  const seconds = (clockUs / 1e6).toFixed(6);
  return `${facility}: ${level}: [${seconds}]: ${message}\n`;
}

/** A line as it goes over the wire. */
export function encodeKernelLine(line: KernelLine): string {
  return JSON.stringify({
    msg: line.message,
    "talos-time": new Date(line.timeMs).toISOString(),
    "talos-level": line.level,
    facility: line.facility,
    seq: line.seq,
    clock: line.clockUs,
    priority: PRIORITY[line.level],
  }) + "\n";
}

/** Options of {@linkcode sendKernelLog}. */
export interface KernelLogSender {
  readonly log: KernelLog;
  dial(signal: AbortSignal): Promise<ByteStream>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Sends all lines and those to come until the signal aborts. A line whose write fails is sent again
 * over another connection, so that the receiver may see it twice.
 */
export async function sendKernelLog({ log, dial, clock, signal }: KernelLogSender): Promise<void> {
  let next = 0;
  const encoder = new TextEncoder();
  while (!signal.aborted) {
    let stream: ByteStream | undefined;
    try {
      stream = await dial(AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]));
      for (;;) {
        await log.changed.until(() => (log.lines().at(-1)?.seq ?? -1) >= next, signal);
        const line = log.lines().find(({ seq }) => seq >= next);
        if (line === undefined) continue;
        await writeInTime(stream, encoder.encode(encodeKernelLine(line)));
        next = line.seq + 1;
      }
    } catch {
      // The receiver is away; the node does not complain about it in its own log.
      await clock.sleep(RETRY_MS, signal);
    } finally {
      stream?.close();
    }
  }
}

/** Writes all bytes; a write that stalls longer than a node waits closes the stream. */
async function writeInTime(stream: ByteStream, data: Uint8Array): Promise<void> {
  const timer = setTimeout(() => stream.close(), SEND_TIMEOUT_MS);
  try {
    await writeAll(stream, data);
  } finally {
    clearTimeout(timer);
  }
}
