// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The requests of one call on their way from the stream to the handler: cut out, decompressed,
 * accounted for, and queued when there may be several.
 *
 * @module
 */

import { Slab } from "../base/slab.ts";
import { decompressSlowly, decompressUsual, MAX_GROWTH } from "./compression.ts";
import type { H2Stream } from "./h2_stream.ts";
import { MessageQueue, type QueueOwner } from "./message_queue.ts";
import { type MessageFault, MessageReader, type MessageTarget } from "./message_reader.ts";
import type { MethodType } from "./service.ts";
import { Code } from "./status.ts";

/** What a call learns from its {@linkcode RequestIntake}. */
export interface IntakeEvents {
  /** A request has arrived; it may still wait for its reader. */
  onReceived(): void;
  /** The only request of the call is there. */
  onRequest(request: Uint8Array): void;
  /** The requests break a rule. */
  onFault(fault: MessageFault): void;
  /** A request cannot be decompressed. */
  onError(error: unknown): void;
}

// Smaller requests of unary calls are bounded well enough by the number of streams.
const HELD_BYTES = 16 * 1024;

/** A unary call is over soon, while one with a stream may keep its request. */
const unaryRequests = new Slab();

const TOO_MANY: MessageFault = {
  code: Code.ResourceExhausted,
  message: "Too many bytes are being received",
};

/** Takes in the requests of one call. */
export class RequestIntake implements MessageTarget, QueueOwner<Uint8Array> {
  readonly #stream: H2Stream;
  readonly #encoding: string | undefined;
  readonly #events: IntakeEvents;
  /** The queue of a call that takes any number of requests. */
  readonly requests: MessageQueue<Uint8Array> | undefined;
  /** Whether the request that was taken last was compressed. */
  wasCompressed = false;
  #reader: MessageReader | undefined;
  #request: Uint8Array | undefined;
  /**
   * Whether a single request is handed on with the end of the stream. A stream of replies begins
   * with the request itself, as it does in other servers: a client may leave its side open.
   */
  readonly #awaitsEnd: boolean;
  #sawRequest = false;
  #queuedBytes = 0;
  #heldBytes = 0;
  #owedBytes = 0;
  /** Whether each request that waits was compressed, when any can be. */
  #compressedFlags: boolean[] | undefined;
  /** Decompression that is under way; what comes after it waits for it. */
  #work: Promise<void> | undefined;
  #over = false;

  constructor(
    stream: H2Stream,
    encoding: string | undefined,
    type: MethodType,
    events: IntakeEvents,
  ) {
    this.#stream = stream;
    this.#encoding = encoding;
    this.#events = events;
    this.#awaitsEnd = type === "unary";
    if (type === "client_stream" || type === "bidi_stream") {
      this.requests = new MessageQueue(this);
    }
  }

  /** Whether part of a request is there. */
  get isPartial(): boolean {
    return this.#reader?.isPartial ?? false;
  }

  /** Takes body bytes of the stream. */
  data(buffer: Uint8Array, start: number, end: number): void {
    const reader = this.#reader ??= new MessageReader(
      this.#stream.session,
      this.#awaitsEnd ? unaryRequests : undefined,
    );
    const fault = reader.feed(buffer, start, end, this);
    if (this.#queuedBytes > this.#stream.session.limits.streamWindowBytes) {
      this.#owedBytes += end - start;
    } else this.#stream.consume(end - start);
    if (fault !== undefined) this.#events.onFault(fault);
  }

  /** Takes the end of the stream. */
  end(): void {
    if (this.#work === undefined) this.#endNow();
    else this.#pursue(this.#work.then(() => this.#endNow()));
  }

  #endNow(): void {
    if (this.#over) return;
    if (this.isPartial) return this.#fault("A truncated message");
    // A call may go on for long after the end of its requests.
    this.#reader = undefined;
    if (this.requests !== undefined) return this.requests.end();
    if (!this.#sawRequest) return this.#fault("A request without a message");
    const request = this.#request;
    this.#request = undefined;
    if (request !== undefined) this.#events.onRequest(request);
  }

  /** The call is over: lets go of everything. */
  release(): void {
    this.#over = true;
    this.#reader?.release();
    if (this.#heldBytes > 0) this.#stream.session.account.unhold(this.#heldBytes);
    this.#heldBytes = 0;
  }

  onMessage(bytes: Uint8Array, compressed: boolean): void {
    if (this.#work !== undefined) {
      return this.#pursue(this.#work.then(() => this.#take(bytes, compressed)));
    }
    const work = this.#take(bytes, compressed);
    if (work !== undefined) this.#pursue(work);
  }

  /** Takes one request; a promise when that needs time. */
  #take(bytes: Uint8Array, compressed: boolean): Promise<void> | undefined {
    if (this.#over) return undefined;
    if (!compressed) return void this.#accept(bytes, false);
    if (this.#encoding !== "gzip") {
      return void this.#fault("A compressed message without an encoding");
    }
    try {
      const plain = decompressUsual(bytes);
      const isUsual = plain !== undefined &&
        plain.length <= this.#stream.session.limits.maxMessageBytes;
      if (!isUsual) return this.#inflate(bytes);
      this.#accept(plain, true);
    } catch (error) {
      this.#events.onError(error);
    }
    return undefined;
  }

  /** Decompresses a request that grows unusually much; its size is held for that time. */
  async #inflate(bytes: Uint8Array): Promise<void> {
    const { account, limits } = this.#stream.session;
    const reserved = Math.min(limits.maxMessageBytes, bytes.length * MAX_GROWTH);
    if (!account.hold(reserved)) return this.#events.onFault(TOO_MANY);
    let plain: Uint8Array;
    try {
      plain = await decompressSlowly(bytes, limits.maxMessageBytes);
    } finally {
      account.unhold(reserved);
    }
    this.#accept(plain, true);
  }

  #pursue(work: Promise<void>): void {
    const mine = work
      .catch((error) => {
        if (!this.#over) this.#stream.session.protect(() => this.#events.onError(error));
      })
      .finally(() => {
        if (this.#work === mine) this.#work = undefined;
      });
    this.#work = mine;
  }

  #accept(message: Uint8Array, compressed: boolean): void {
    if (this.#over) return;
    const { requests } = this;
    if (requests !== undefined || message.length >= HELD_BYTES) {
      if (!this.#stream.session.account.hold(message.length)) {
        return this.#events.onFault(TOO_MANY);
      }
      this.#heldBytes += message.length;
    }
    this.#events.onReceived();
    if (requests !== undefined) {
      if (this.#encoding !== undefined) (this.#compressedFlags ??= []).push(compressed);
      this.#queuedBytes += message.length;
      requests.push(message);
    } else if (!this.#sawRequest) {
      this.#sawRequest = true;
      this.wasCompressed = compressed;
      if (this.#awaitsEnd) this.#request = message;
      else this.#events.onRequest(message);
    } else this.#fault("More than one message for a call that takes one");
  }

  onTaken(bytes: Uint8Array): void {
    this.wasCompressed = this.#compressedFlags?.shift() ?? false;
    this.#queuedBytes -= bytes.length;
    if (!this.#over) {
      this.#stream.session.account.unhold(bytes.length);
      this.#heldBytes -= bytes.length;
    }
    if (this.#owedBytes === 0) return;
    if (this.#queuedBytes > this.#stream.session.limits.streamWindowBytes) return;
    this.#stream.consume(this.#owedBytes);
    this.#owedBytes = 0;
  }

  #fault(message: string): void {
    this.#events.onFault({ code: Code.Internal, message });
  }
}
