// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Messages that arrived and wait for their reader.
 *
 * It does not refuse messages: who fills it gives flow-control window back only as they are taken.
 *
 * @module
 */

/** A queue between a stream and one reader. */
export class MessageQueue<T> implements AsyncIterableIterator<T> {
  readonly #onTaken: (message: T) => void;
  readonly #onReturn: () => void;
  readonly #messages: T[] = [];
  #waiting: ((result: IteratorResult<T, undefined>) => void) | undefined;
  #waitingReject: ((error: unknown) => void) | undefined;
  #ended = false;
  #error: unknown;

  /**
   * @param onTaken Called with each message that the reader took.
   * @param onReturn Called when the reader stops before the end.
   */
  constructor(onTaken: (message: T) => void, onReturn: () => void) {
    this.#onTaken = onTaken;
    this.#onReturn = onReturn;
  }

  /** How many messages wait. */
  get length(): number {
    return this.#messages.length;
  }

  /** Adds a message. */
  push(message: T): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    if (waiting === undefined) {
      this.#messages.push(message);
      return;
    }
    this.#waiting = this.#waitingReject = undefined;
    waiting({ value: message, done: false });
    this.#onTaken(message);
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
    if (this.#messages.length > 0) {
      const message = this.#messages.shift() as T;
      this.#onTaken(message);
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
    this.#messages.length = 0;
    this.end();
    this.#onReturn();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return this;
  }
}
