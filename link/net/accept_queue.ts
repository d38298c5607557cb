// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Connections that wait for somebody to accept them, as a listener that is iterated over.
 *
 * @module
 */

import type { IncomingStream } from "../../rpc/stream.ts";

/** A listener whose streams are of a kind that the program knows more about. */
export interface QueueListener<T extends IncomingStream> extends AsyncIterable<T> {
  readonly port: number;
  close(): void;
}

/** Both ends of a queue. */
export interface AcceptQueue<T extends IncomingStream = IncomingStream> {
  /** The end that the program iterates over. */
  readonly listener: QueueListener<T>;
  /** How many connections wait. */
  readonly length: number;
  /** Adds a connection; it is closed when nobody listens any more. */
  push(incoming: T): void;
}

/** Makes a queue; `onClose` runs once, when the listener is closed. */
export function createAcceptQueue<T extends IncomingStream>(
  port: number,
  onClose: () => void,
): AcceptQueue<T> {
  const waiting: T[] = [];
  const takers: ((result: IteratorResult<T>) => void)[] = [];
  let isClosed = false;

  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    for (const { stream } of waiting.splice(0)) stream.close();
    for (const take of takers.splice(0)) take({ done: true, value: undefined });
    onClose();
  };
  const next = (): Promise<IteratorResult<T>> => {
    const value = waiting.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (isClosed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => takers.push(resolve));
  };
  return {
    get length() {
      return waiting.length;
    },
    push(incoming) {
      const take = takers.shift();
      if (isClosed) incoming.stream.close();
      else if (take !== undefined) take({ done: false, value: incoming });
      else waiting.push(incoming);
    },
    listener: {
      port,
      close,
      [Symbol.asyncIterator]: () => ({
        next,
        return: () => {
          close();
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    },
  };
}
