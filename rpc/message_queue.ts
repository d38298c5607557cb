// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Messages that arrived and wait for their reader.
 *
 * It does not refuse messages: who fills it gives flow-control window back only as they are taken.
 *
 * @module
 */

/** Who fills a {@linkcode MessageQueue}. An object, so that a call needs no closures for it. */
export interface QueueOwner<T> {
  /** Is called with each message that the reader took. */
  onTaken?(message: T): void;
  /** Is called when the reader stops before the end. */
  onReturn?(): void;
}

// Moves the rest of a long queue seldom, and lets go of what was taken.
const COMPACT_AFTER = 1024;

/** A queue between a stream and one reader. */
export class MessageQueue<T> implements AsyncIterableIterator<T> {
  readonly #owner: QueueOwner<T>;
  /** Waiting messages from `#first` on; taking from the front of a long array would move all of it. */
  #messages: T[] | undefined;
  #first = 0;
  #waiting: ((result: IteratorResult<T, undefined>) => void) | undefined;
  #waitingReject: ((error: unknown) => void) | undefined;
  #ended = false;
  #error: unknown;

  constructor(owner: QueueOwner<T>) {
    this.#owner = owner;
  }

  /** Adds a message. */
  push(message: T): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    if (waiting === undefined) {
      (this.#messages ??= []).push(message);
      return;
    }
    this.#waiting = this.#waitingReject = undefined;
    waiting({ value: message, done: false });
    this.#owner.onTaken?.(message);
  }

  /** Ends the queue after the messages that wait. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#waiting?.({ value: undefined, done: true });
    this.#waiting = this.#waitingReject = undefined;
  }

  /** Ends the queue with an error after the messages that wait. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    const reject = this.#waitingReject;
    this.#waiting = this.#waitingReject = undefined;
    if (reject === undefined) return;
    this.#error = undefined;
    reject(error);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const messages = this.#messages;
    if (messages !== undefined) {
      const message = messages[this.#first++] as T;
      if (this.#first === messages.length) {
        this.#messages = undefined;
        this.#first = 0;
      } else if (this.#first === COMPACT_AFTER) {
        this.#messages = messages.slice(this.#first);
        this.#first = 0;
      }
      this.#owner.onTaken?.(message);
      return Promise.resolve({ value: message, done: false });
    }
    if (this.#error !== undefined) {
      const error = this.#error;
      this.#error = undefined;
      return Promise.reject(error);
    }
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => {
      this.#waiting = resolve;
      this.#waitingReject = reject;
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#messages = undefined;
    this.#first = 0;
    this.end();
    this.#owner.onReturn?.();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return this;
  }
}
