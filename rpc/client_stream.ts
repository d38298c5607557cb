// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A call with streams of messages on the client.
 *
 * @module
 */

import type { CodedError } from "../base/errors.ts";
import type { BeginSpan } from "./call_tracing.ts";
import { type CallEvents, type CallOptions, ClientCall } from "./client_call.ts";
import { MessageQueue, type QueueOwner } from "./message_queue.ts";

/** A call with streams of messages as bytes. */
export interface RawStream {
  /**
   * Sends a message and resolves when there is room for the next one. Messages after the end are
   * dropped. `compress: false` sends this one plain in a call with the option `compress`.
   */
  send(message: Uint8Array, compress?: boolean): Promise<void>;
  /** Says that no more messages follow. */
  end(): void;
  /** The replies; it throws a `CodedError` when the call does not end well. */
  readonly messages: AsyncIterableIterator<Uint8Array>;
  /** Whether the call is over, so that sending is of no use. */
  readonly ended: boolean;
  /** Cancels the call. */
  cancel(): void;
}

/** The user of a {@linkcode ClientCall} that queues its replies for one reader. */
export class ClientStream implements RawStream, CallEvents, QueueOwner<Uint8Array> {
  readonly #path: string;
  readonly #windowBytes: number;
  readonly call: ClientCall;
  readonly messages = new MessageQueue<Uint8Array>(this);
  #queuedBytes = 0;
  #isOpen = false;
  /** Who waits for the stream to be open, while it is not. */
  #waiters: (() => void)[] | undefined;

  /** @param windowBytes How much may wait for the reader before the peer is held back. */
  constructor(path: string, options: CallOptions, windowBytes: number, beginSpan?: BeginSpan) {
    this.#path = path;
    this.#windowBytes = windowBytes;
    this.call = new ClientCall(path, options, this, beginSpan);
  }

  get ended(): boolean {
    return this.call.done;
  }

  async send(message: Uint8Array, compress?: boolean): Promise<void> {
    if (!this.#isOpen) await this.#whenOpen();
    await this.call.send(message, false, compress);
  }

  end(): void {
    if (this.#isOpen) this.call.sendEnd();
    else void this.#whenOpen().then(() => this.call.sendEnd());
  }

  cancel(): void {
    this.call.cancel("cancelled", `Call of ${this.#path} was cancelled`);
  }

  /** The call has its stream. */
  opened(): void {
    this.#isOpen = true;
    const waiters = this.#waiters;
    this.#waiters = undefined;
    for (const wake of waiters ?? []) wake();
  }

  onMessage(message: Uint8Array): void {
    this.#queuedBytes += message.length;
    this.messages.push(message);
    if (this.#queuedBytes > this.#windowBytes) this.call.pause();
  }

  onEnd(error: CodedError | undefined): void {
    this.opened();
    if (error === undefined) this.messages.end();
    else this.messages.fail(error);
  }

  onTaken(message: Uint8Array): void {
    this.#queuedBytes -= message.length;
    if (this.#queuedBytes <= this.#windowBytes) this.call.resume();
  }

  onReturn(): void {
    this.cancel();
  }

  #whenOpen(): Promise<void> {
    return new Promise((resolve) => (this.#waiters ??= []).push(resolve));
  }
}
