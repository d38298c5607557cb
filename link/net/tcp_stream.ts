// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A TCP connection as a {@linkcode ByteStream}.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { ByteStream, IncomingStream } from "../../rpc/stream.ts";
import type { TcpConnection } from "./tcp_connection.ts";
import type { TcpFailure } from "./tcp_host.ts";

const FAILURES: Readonly<Record<TcpFailure, string>> = {
  refused: "connection refused",
  reset: "connection reset by the peer",
  timedOut: "the peer does not answer",
  aborted: "the connection was closed",
};

/** The error of a connection that ended badly. */
export function failureError(action: string, failure: TcpFailure): CodedError {
  return new CodedError("unavailable", `Cannot ${action}: ${FAILURES[failure]}`);
}

/** A stream and the two callbacks that drive it. */
export interface TcpStream extends ByteStream {
  /** Bytes that a read returns at once. */
  readonly available: number;
  /**
   * Settles when a read would: bytes are there, or the end; it rejects when the connection failed.
   * One wait at a time, and not during a read.
   */
  readable(): Promise<void>;
  /** Something came in, or room to write appeared. */
  progress(): void;
  /** The connection is gone. */
  ended(failure: TcpFailure | undefined): void;
}

interface Waiting<T> {
  readonly data: Uint8Array;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

const NOTHING = new Uint8Array(0);

/** A stream together with where it comes from. */
export interface IncomingTcp extends IncomingStream {
  readonly stream: TcpStream;
}

/** Wraps a connection. */
export function createTcpStream(connection: TcpConnection): TcpStream {
  let reader: Waiting<number | null> | undefined;
  let writer: Waiting<number> | undefined;
  let failure: TcpFailure | undefined;
  let isWriteClosed = false;
  let isClosed = false;

  const tryRead = (buffer: Uint8Array): number | null | undefined => {
    if (connection.available > 0) return connection.read(buffer);
    return connection.isAtEnd || isClosed ? null : undefined;
  };
  const progressReading = (): void => {
    if (reader === undefined) return;
    const { data, resolve } = reader;
    const result = tryRead(data);
    if (result === undefined) return;
    reader = undefined;
    resolve(result);
  };
  const progress = (): void => {
    progressReading();
    if (writer !== undefined && connection.writable > 0) {
      const { data, resolve } = writer;
      writer = undefined;
      resolve(connection.write(data));
    }
  };
  const ended = (reason: TcpFailure | undefined): void => {
    progressReading();
    failure = reason ?? "aborted";
    const read = reader;
    const write = writer;
    reader = writer = undefined;
    if (isClosed) read?.resolve(null);
    else read?.reject(failureError("read", failure));
    write?.reject(failureError("write", failure));
  };
  return {
    get available() {
      return connection.available;
    },
    readable() {
      if (connection.available > 0 || connection.isAtEnd || isClosed) return Promise.resolve();
      if (failure !== undefined) return Promise.reject(failureError("read", failure));
      return new Promise((resolve, reject) => {
        reader = { data: NOTHING, resolve: () => resolve(), reject };
      });
    },
    progress,
    ended,
    read(buffer) {
      if (buffer.length === 0) return Promise.resolve(0);
      const result = tryRead(buffer);
      if (result !== undefined) return Promise.resolve(result);
      if (failure !== undefined) return Promise.reject(failureError("read", failure));
      return new Promise((resolve, reject) => reader = { data: buffer, resolve, reject });
    },
    write(data) {
      if (data.length === 0) return Promise.resolve(0);
      if (failure !== undefined || isWriteClosed || isClosed) {
        return Promise.reject(failureError("write", failure ?? "aborted"));
      }
      if (connection.writable > 0) return Promise.resolve(connection.write(data));
      return new Promise((resolve, reject) => writer = { data, resolve, reject });
    },
    closeWrite() {
      isWriteClosed = true;
      if (failure === undefined) connection.closeWrite();
      return Promise.resolve();
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      connection.close();
      reader?.resolve(null);
      writer?.reject(failureError("write", "aborted"));
      reader = writer = undefined;
    },
  };
}
