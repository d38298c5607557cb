// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Cuts the body of a gRPC stream into its length-prefixed messages.
 *
 * Memory grows with the bytes that arrived, in steps, not with the length that a peer announced.
 *
 * @module
 */

import type { Slab } from "../base/slab.ts";
import type { Session } from "./session.ts";
import { Code } from "./status.ts";

/** Takes messages. An object instead of a function, so that a call needs no closure for it. */
export interface MessageTarget {
  /** Takes a message; the bytes are its own. `compressed` is the flag of the prefix. */
  onMessage(bytes: Uint8Array, compressed: boolean): void;
}

/** Why a body cannot be read on. */
export interface MessageFault {
  readonly code: Code;
  readonly message: string;
}

const PREFIX_BYTES = 5;
const FIRST_BODY_BYTES = 32 * 1024;

// Large steps, because each one copies what is there. Memory that was only reserved costs nothing
// until bytes arrive in it.
const GROWTH = 32;

/** Reads the messages of one direction of one stream. */
export class MessageReader {
  readonly #session: Session;
  readonly #maxBytes: number;
  readonly #slab: Slab | undefined;
  #prefix: Uint8Array | undefined;
  #prefixLength = 0;
  #compressed = false;
  #wanted = -1;
  #body: Uint8Array | undefined;
  #bodyLength = 0;

  /** @param slab Where short messages are cut from that nobody keeps for long. */
  constructor(session: Session, slab?: Slab) {
    this.#session = session;
    this.#slab = slab;
    this.#maxBytes = session.limits.maxMessageBytes;
  }

  /** Whether part of a message is there. */
  get isPartial(): boolean {
    return this.#wanted >= 0 || this.#prefixLength > 0;
  }

  /** Takes body bytes and hands on each message that they complete. */
  feed(
    buffer: Uint8Array,
    start: number,
    end: number,
    target: MessageTarget,
  ): MessageFault | undefined {
    let at = start;
    while (at < end) {
      if (this.#wanted < 0) {
        at = this.#readPrefix(buffer, at, end);
        if (this.#wanted < 0) return undefined;
        if (this.#wanted > this.#maxBytes) {
          return {
            code: Code.ResourceExhausted,
            message: `A message of ${this.#wanted} bytes is larger than ${this.#maxBytes}`,
          };
        }
      }
      const missing = this.#wanted - this.#bodyLength;
      const count = Math.min(missing, end - at);
      if (count === missing && this.#body === undefined) {
        this.#wanted = -1;
        const message = this.#slab?.copy(buffer, at, at + count) ?? buffer.slice(at, at + count);
        target.onMessage(message, this.#compressed);
      } else {
        const fault = this.#append(buffer, at, count);
        if (fault !== undefined) return fault;
        if (count === missing) this.#complete(target);
      }
      at += count;
    }
    // An empty message ends with its prefix.
    if (this.#wanted === 0) {
      this.#wanted = -1;
      target.onMessage(new Uint8Array(0), this.#compressed);
    }
    return undefined;
  }

  /** Lets go of a partial message. */
  release(): void {
    if (this.#body !== undefined) this.#session.account.unhold(this.#body.length);
    this.#body = undefined;
    this.#bodyLength = this.#prefixLength = 0;
    this.#wanted = -1;
  }

  #readPrefix(buffer: Uint8Array, start: number, end: number): number {
    if (this.#prefixLength === 0 && end - start >= PREFIX_BYTES) {
      this.#takePrefix(buffer, start);
      return start + PREFIX_BYTES;
    }
    const prefix = this.#prefix ??= new Uint8Array(PREFIX_BYTES);
    let at = start;
    while (at < end && this.#prefixLength < PREFIX_BYTES) {
      prefix[this.#prefixLength++] = buffer[at++] as number;
    }
    if (this.#prefixLength === PREFIX_BYTES) this.#takePrefix(prefix, 0);
    return at;
  }

  #takePrefix(buffer: Uint8Array, at: number): void {
    this.#prefixLength = 0;
    this.#compressed = buffer[at] === 1;
    this.#wanted = (buffer[at + 1] as number) * 0x100_0000 + ((buffer[at + 2] as number) << 16) +
      ((buffer[at + 3] as number) << 8) + (buffer[at + 4] as number);
  }

  #append(buffer: Uint8Array, start: number, count: number): MessageFault | undefined {
    const length = this.#bodyLength + count;
    const before = this.#body?.length ?? 0;
    if (length > before) {
      const size = Math.min(this.#wanted, Math.max(length, before * GROWTH, FIRST_BODY_BYTES));
      if (!this.#session.account.hold(size - before)) {
        return { code: Code.ResourceExhausted, message: "Too many bytes are being received" };
      }
      const body = new Uint8Array(size);
      if (this.#body !== undefined) body.set(this.#body);
      this.#body = body;
    }
    this.#body?.set(buffer.subarray(start, start + count), this.#bodyLength);
    this.#bodyLength = length;
    return undefined;
  }

  #complete(target: MessageTarget): void {
    const body = this.#body as Uint8Array;
    this.#session.account.unhold(body.length);
    this.#body = undefined;
    this.#bodyLength = 0;
    this.#wanted = -1;
    target.onMessage(body, this.#compressed);
  }
}
