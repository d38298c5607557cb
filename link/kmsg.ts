// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The kernel log receiver: one JSON object a line over TCP, inside the tunnel.
 *
 * Lines are stored as received but for the values of `jointoken=` and `talos.config=`, which the
 * kernel prints with its command line.
 *
 * @module
 */

import { formatError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { redactParameters } from "../base/redact.ts";
import type { Clock } from "../base/clock.ts";
import { backoffMs } from "../base/retry.ts";
import type { ByteStream, IncomingStream, StreamListener } from "../rpc/stream.ts";

/** Takes lines of kernel logs. */
export interface KernelLogPort {
  /** The machine that owns a tunnel address, or `undefined`. */
  machineOf(remoteAddress: string): string | undefined;
  /** Settles when the line is stored; it is given again after an error. */
  append(machine: string, line: string): Promise<void>;
}

/** Limits of the receiver. */
export const KERNEL_LOG_LIMITS = {
  /** Connections of one machine at a time; a machine opens one, and a second after a lost one. */
  connectionsPerMachine: 4,
  /** Bytes of one line; a longer one ends its connection. */
  lineBytes: 64 * 1024,
} as const;

/** What {@linkcode serveKernelLog} works with. */
export interface KernelLogOptions {
  readonly port: KernelLogPort;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Receives kernel logs until the listener is closed. */
export async function serveKernelLog(
  listener: StreamListener,
  options: KernelLogOptions,
): Promise<void> {
  const open = new Map<string, number>();
  const stopped = new AbortController();
  const running = new Set<Promise<void>>();
  const streams = new Set<ByteStream>();
  for await (const incoming of listener) {
    const machine = options.port.machineOf(incoming.remoteAddress);
    const count = machine === undefined ? 0 : open.get(machine) ?? 0;
    if (machine === undefined || count >= KERNEL_LOG_LIMITS.connectionsPerMachine) {
      incoming.stream.close();
      continue;
    }
    open.set(machine, count + 1);
    streams.add(incoming.stream);
    const task = receive(incoming, machine, options, stopped.signal).finally(() => {
      const left = (open.get(machine) ?? 1) - 1;
      if (left === 0) open.delete(machine);
      else open.set(machine, left);
      streams.delete(incoming.stream);
      running.delete(task);
    });
    running.add(task);
  }
  stopped.abort();
  for (const stream of streams) stream.close();
  await Promise.all(running);
}

async function receive(
  { stream }: IncomingStream,
  machine: string,
  options: KernelLogOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const line of readLines(stream, KERNEL_LOG_LIMITS.lineBytes)) {
      await store(machine, redactParameters(line), options, signal);
      if (signal.aborted) return;
    }
  } catch (error) {
    options.log.debug("kernel log connection ended", { machine, error });
  } finally {
    stream.close();
  }
}

/** Stores one line, again and again until it is stored: the next line is not read before. */
async function store(
  machine: string,
  line: string,
  { port, clock, log }: KernelLogOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await port.append(machine, line);
    } catch (error) {
      log.warn("kernel log line not stored", { machine, attempt, error: formatError(error) });
      await clock.sleep(backoffMs(attempt, { initialMs: 100, maximumMs: 10_000 }), signal);
    }
  }
}

const FIRST_BUFFER_BYTES = 4096;

/** Splits a stream into its non-empty lines; throws when one exceeds `maximumBytes`. */
export async function* readLines(stream: ByteStream, maximumBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  // Most machines log short lines and rarely, so an idle connection holds a small buffer.
  let buffer = new Uint8Array(Math.min(FIRST_BUFFER_BYTES, maximumBytes + 1));
  let filled = 0;
  while (true) {
    const count = await stream.read(buffer.subarray(filled));
    if (count === null) return;
    const end = filled + count;
    let start = 0;
    let at = buffer.indexOf(0x0a, filled);
    while (at !== -1 && at < end) {
      const line = decoder.decode(buffer.subarray(start, at)).trim();
      if (line !== "") yield line;
      start = at + 1;
      at = buffer.indexOf(0x0a, start);
    }
    buffer.copyWithin(0, start, end);
    filled = end - start;
    if (filled > maximumBytes) throw new Error("Kernel log line is longer than the limit");
    if (filled === buffer.length) buffer = grown(buffer, maximumBytes + 1);
  }
}

function grown(buffer: Uint8Array, maximumBytes: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.min(buffer.length * 2, maximumBytes));
  larger.set(buffer);
  return larger;
}
