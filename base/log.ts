// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Structured logs: a constant lower-case message and fields from a closed vocabulary.
 *
 * @module
 */

import { formatError } from "./errors.ts";

/** Fields of a log line; never a secret. */
export interface LogFields {
  readonly controller?: string;
  readonly type?: string;
  readonly id?: string;
  readonly cluster?: string;
  readonly machine?: string;
  readonly address?: string;
  readonly attempt?: number;
  readonly count?: number;
  readonly durationMs?: number;
  readonly receiveBufferBytes?: number;
  readonly reason?: string;
  readonly error?: unknown;
}

/** How much is written. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Writes log lines. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Options of {@linkcode createLogger}. */
export interface LoggerOptions {
  readonly level?: LogLevel;
  /** Receives each line with its newline; standard error when absent. */
  readonly write?: (line: string) => void;
}

const encoder = new TextEncoder();

/** Levels by how much they say; `silent` lets nothing through. */
const RANKS: Readonly<Record<LogLevel, number>> = {
  debug: 0,
  info: 1,
  warn: 2,
  error: 3,
  silent: 4,
};

/** Creates a logger of JSON lines. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const write = options.write ?? ((line) => void Deno.stderr.writeSync(encoder.encode(line)));
  const least = RANKS[options.level ?? "info"];
  const at = (level: "debug" | "info" | "warn" | "error"): Logger["info"] => {
    if (RANKS[level] < least) return () => {};
    return (message, { error, ...rest } = {}) => {
      const fields = error === undefined ? rest : { ...rest, error: formatError(error) };
      const time = new Date().toISOString();
      write(`${JSON.stringify({ level, time, ...fields, msg: message })}\n`);
    };
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A logger that writes nothing. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};
