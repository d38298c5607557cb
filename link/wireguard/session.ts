// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One pair of transport keys: counters, replay window, sealing and opening.
 *
 * @module
 */

import type { SessionKeys } from "./handshake.ts";
import {
  MTU,
  PADDING,
  readCounter,
  REJECT_AFTER_MESSAGES,
  REJECT_AFTER_MS,
  TRANSPORT,
  TRANSPORT_HEADER_SIZE,
  writeUint32,
} from "./messages.ts";
import { open, sealInto, TAG_SIZE, writeCounter } from "./primitives.ts";

const WORD_BITS = 32;
const WORDS = 64;

/**
 * Message numbers that were seen, for the last 2,016 below the highest.
 *
 * A ring of words after RFC 6479: moving on clears whole words, never shifts.
 */
export class ReplayWindow {
  readonly #words = new Uint32Array(WORDS);
  #highest = -1;

  /** Marks a number; returns whether it was new and not too old. */
  accept(counter: number): boolean {
    const word = Math.floor(counter / WORD_BITS);
    if (counter > this.#highest) {
      const from = Math.floor(this.#highest / WORD_BITS);
      const steps = Math.min(word - from, WORDS);
      for (let i = 1; i <= steps; i++) this.#words[(from + i) % WORDS] = 0;
      this.#highest = counter;
    } else if (this.#highest - counter >= (WORDS - 1) * WORD_BITS) {
      return false;
    }
    const slot = word % WORDS;
    const bit = 1 << (counter % WORD_BITS);
    const bits = this.#words[slot] ?? 0;
    this.#words[slot] = bits | bit;
    return (bits & bit) === 0;
  }
}

let memory = new Uint8Array(2048);

/** Memory for one message: making it anew for each would cost a tenth of sealing. */
function scratch(size: number): Uint8Array {
  if (memory.length < size) memory = new Uint8Array(size);
  return memory.subarray(0, size);
}

/** Where a packet is padded; what is larger than the MTU is not. */
const paddedScratch = new Uint8Array(MTU);

/** A session with a peer. */
export class Session {
  readonly remoteIndex: number;
  readonly #sendKey: Uint8Array;
  readonly #receiveKey: Uint8Array;
  readonly #replay = new ReplayWindow();
  /** The number of the next message. */
  sendCounter = 0;
  /** Whether the late rekey of a session that only receives was started. */
  hasLateRekey = false;

  constructor(
    readonly localIndex: number,
    readonly isInitiator: boolean,
    readonly createdMs: number,
    keys: SessionKeys,
  ) {
    this.remoteIndex = keys.remoteIndex;
    this.#sendKey = keys.sendKey;
    this.#receiveKey = keys.receiveKey;
  }

  /** Whether messages may be sent and received under these keys. */
  isUsable(nowMs: number): boolean {
    return nowMs - this.createdMs < REJECT_AFTER_MS && this.sendCounter < REJECT_AFTER_MESSAGES;
  }

  /**
   * Makes the transport message of an inner packet; an empty packet is a keepalive. The message is
   * in memory that the next one of any session overwrites.
   */
  seal(packet: Uint8Array): Uint8Array {
    const counter = this.sendCounter++;
    const padded = packet.length > MTU
      ? packet.length
      : Math.min(Math.ceil(packet.length / PADDING) * PADDING, MTU);
    const message = scratch(TRANSPORT_HEADER_SIZE + padded + TAG_SIZE);
    message[0] = TRANSPORT;
    writeUint32(message, 4, this.remoteIndex);
    writeCounter(message, 8, counter);
    let plaintext = packet;
    if (padded !== packet.length) {
      plaintext = paddedScratch.subarray(0, padded);
      plaintext.set(packet);
      plaintext.fill(0, packet.length);
    }
    sealInto(message, TRANSPORT_HEADER_SIZE, this.#sendKey, counter, plaintext);
    return message;
  }

  /** Opens a transport message; `undefined` when it is forged, repeated or too old. */
  open(message: Uint8Array): Uint8Array | undefined {
    const counter = readCounter(message, 8);
    if (counter >= REJECT_AFTER_MESSAGES) return undefined;
    const plaintext = open(this.#receiveKey, counter, message.subarray(TRANSPORT_HEADER_SIZE));
    // Only a genuine message may move the window.
    return plaintext !== undefined && this.#replay.accept(counter) ? plaintext : undefined;
  }

  /** Overwrites the keys, as far as the runtime lets us. */
  erase(): void {
    this.#sendKey.fill(0);
    this.#receiveKey.fill(0);
    this.sendCounter = REJECT_AFTER_MESSAGES;
  }
}
