// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The program's side of a stream whose connection lives in the thread of the tunnel.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { CHUNK_SIZE, STREAM_CREDIT, type ToThread } from "./tunnel_messages.ts";

/** A stream and what the thread reports about it. */
export interface ThreadStream extends ByteStream {
  onData(bytes: Uint8Array): void;
  onCredit(bytes: number): void;
  onEnd(): void;
  onBroken(error: CodedError): void;
}

interface Waiting<T> {
  readonly data: Uint8Array;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** Credit is given back in steps of this size, not for every read. */
const CREDIT_STEP = STREAM_CREDIT / 4;

/** Makes the program's side of a stream; `onClosed` runs once, when the program closes it. */
export function createThreadStream(
  handle: number,
  post: (message: ToThread, transfer: ArrayBuffer[]) => void,
  onClosed: () => void,
): ThreadStream {
  const chunks: Uint8Array[] = [];
  let reader: Waiting<number | null> | undefined;
  let writer: Waiting<number> | undefined;
  let credit = STREAM_CREDIT;
  let unreported = 0;
  let isAtEnd = false;
  let isWriteClosed = false;
  let isClosed = false;
  let failure: CodedError | undefined;

  const take = (buffer: Uint8Array): number => {
    let length = 0;
    for (let chunk = chunks[0]; chunk !== undefined && length < buffer.length; chunk = chunks[0]) {
      const part = chunk.subarray(0, buffer.length - length);
      buffer.set(part, length);
      length += part.length;
      if (part.length === chunk.length) chunks.shift();
      else chunks[0] = chunk.subarray(part.length);
    }
    unreported += length;
    if (unreported >= CREDIT_STEP && !isAtEnd) {
      post({ kind: "credit", stream: handle, bytes: unreported }, []);
      unreported = 0;
    }
    return length;
  };
  const give = (data: Uint8Array): number => {
    const bytes = data.slice(0, Math.min(data.length, credit, CHUNK_SIZE));
    credit -= bytes.length;
    // The length is read first: the memory leaves with the message.
    const { length } = bytes;
    post({ kind: "data", stream: handle, bytes }, [bytes.buffer]);
    return length;
  };
  const wake = (): void => {
    if (reader !== undefined && (chunks.length > 0 || isAtEnd || isClosed)) {
      const { data, resolve } = reader;
      reader = undefined;
      resolve(chunks.length > 0 ? take(data) : null);
    }
    if (writer !== undefined && credit > 0) {
      const { data, resolve } = writer;
      writer = undefined;
      resolve(give(data));
    }
    if (failure === undefined) return;
    reader?.reject(failure);
    writer?.reject(failure);
    reader = writer = undefined;
  };
  return {
    onData(bytes) {
      chunks.push(bytes);
      wake();
    },
    onCredit(bytes) {
      credit += bytes;
      wake();
    },
    onEnd() {
      isAtEnd = true;
      wake();
    },
    onBroken(error) {
      failure ??= error;
      wake();
    },
    read(buffer) {
      if (buffer.length === 0) return Promise.resolve(0);
      if (isClosed) return Promise.resolve(null);
      if (chunks.length > 0) return Promise.resolve(take(buffer));
      if (isAtEnd) return Promise.resolve(null);
      if (failure !== undefined) return Promise.reject(failure);
      return new Promise((resolve, reject) => reader = { data: buffer, resolve, reject });
    },
    write(data) {
      if (data.length === 0) return Promise.resolve(0);
      if (failure !== undefined) return Promise.reject(failure);
      if (isClosed || isWriteClosed) return Promise.reject(closedError());
      if (credit > 0) return Promise.resolve(give(data));
      return new Promise((resolve, reject) => writer = { data, resolve, reject });
    },
    closeWrite() {
      if (!isWriteClosed && !isClosed) post({ kind: "closeWrite", stream: handle }, []);
      isWriteClosed = true;
      return Promise.resolve();
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      chunks.length = 0;
      wake();
      writer?.reject(closedError());
      writer = undefined;
      post({ kind: "closeStream", stream: handle }, []);
      onClosed();
    },
  };
}

function closedError(): CodedError {
  return new CodedError("unavailable", "Cannot write: the connection was closed");
}
