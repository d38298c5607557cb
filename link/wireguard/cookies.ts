// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The two MACs of a handshake message, and the cookies by which a busy device makes senders prove
 * that they receive at the address they send from.
 *
 * @module
 */

import type { RandomBytes } from "../addresses.ts";
import {
  COOKIE_LATENCY_MS,
  COOKIE_LIFETIME_MS,
  COOKIE_REPLY,
  COOKIE_REPLY_SIZE,
  MACS_SIZE,
  writeUint32,
} from "./messages.ts";
import { hash, isMac, mac, openCookie, sealCookie, TAG_SIZE } from "./primitives.ts";

const text = new TextEncoder();
const MAC1_LABEL = text.encode("mac1----");
const COOKIE_LABEL = text.encode("cookie--");
const NONCE_SIZE = 24;

/** Where a message came from; both parts count. */
export interface Source {
  readonly hostname: string;
  readonly port: number;
}

/** Whether a handshake message has a second MAC at all, right or wrong. */
export function hasMac2(message: Uint8Array): boolean {
  let any = 0;
  for (let at = message.length - TAG_SIZE; at < message.length; at++) any |= message[at] as number;
  return any !== 0;
}

/** Writes the MACs of messages to one peer. */
export class MacWriter {
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  #lastMac1: Uint8Array | undefined;
  #cookie: Uint8Array | undefined;
  #cookieSetMs = 0;

  /** @param publicKey The peer's. */
  constructor(publicKey: Uint8Array) {
    this.#mac1Key = hash(MAC1_LABEL, publicKey);
    this.#cookieKey = hash(COOKIE_LABEL, publicKey);
  }

  /** Fills in both MACs of a handshake message. */
  write(message: Uint8Array, nowMs: number): void {
    const mac1At = message.length - MACS_SIZE;
    const mac2At = mac1At + TAG_SIZE;
    const mac1 = mac(this.#mac1Key, message.subarray(0, mac1At));
    message.set(mac1, mac1At);
    this.#lastMac1 = mac1;
    // A cookie is given up a little before its maker forgets it, so that it never arrives too late.
    if (this.#cookie && nowMs - this.#cookieSetMs < COOKIE_LIFETIME_MS - COOKIE_LATENCY_MS) {
      message.set(mac(this.#cookie, message.subarray(0, mac2At)), mac2At);
    }
  }

  /** Takes the cookie out of a reply to the last message; returns whether it was genuine. */
  consumeReply(message: Uint8Array, nowMs: number): boolean {
    if (this.#lastMac1 === undefined) return false;
    const cookie = openCookie(
      this.#cookieKey,
      message.subarray(8, 8 + NONCE_SIZE),
      message.subarray(8 + NONCE_SIZE),
      this.#lastMac1,
    );
    if (cookie === undefined) return false;
    this.#cookie = cookie;
    this.#cookieSetMs = nowMs;
    return true;
  }
}

/** Checks the MACs of messages to us, and makes cookies. */
export class MacChecker {
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  readonly #random: RandomBytes;
  #secret: Uint8Array;
  #secretSetMs = -Infinity;

  /** @param publicKey Our own. */
  constructor(publicKey: Uint8Array, random: RandomBytes) {
    this.#mac1Key = hash(MAC1_LABEL, publicKey);
    this.#cookieKey = hash(COOKIE_LABEL, publicKey);
    this.#random = random;
    this.#secret = new Uint8Array(0);
  }

  /** Whether the sender knows our public key. */
  isMac1Valid(message: Uint8Array): boolean {
    const at = message.length - MACS_SIZE;
    return isMac(this.#mac1Key, message.subarray(0, at), message.subarray(at, at + TAG_SIZE));
  }

  /** Whether the sender has received a cookie at its address lately. */
  isMac2Valid(message: Uint8Array, source: Source, nowMs: number): boolean {
    if (nowMs - this.#secretSetMs >= COOKIE_LIFETIME_MS) return false;
    const at = message.length - TAG_SIZE;
    return isMac(this.#cookieOf(source), message.subarray(0, at), message.subarray(at));
  }

  /** The cookie reply to a message with a valid first MAC. */
  createReply(message: Uint8Array, senderIndex: number, source: Source, nowMs: number): Uint8Array {
    if (nowMs - this.#secretSetMs >= COOKIE_LIFETIME_MS) {
      this.#secret = this.#random(32);
      this.#secretSetMs = nowMs;
    }
    const reply = new Uint8Array(COOKIE_REPLY_SIZE);
    reply[0] = COOKIE_REPLY;
    writeUint32(reply, 4, senderIndex);
    const nonce = this.#random(NONCE_SIZE);
    reply.set(nonce, 8);
    const mac1At = message.length - MACS_SIZE;
    const mac1 = message.subarray(mac1At, mac1At + TAG_SIZE);
    reply.set(sealCookie(this.#cookieKey, nonce, this.#cookieOf(source), mac1), 8 + NONCE_SIZE);
    return reply;
  }

  #cookieOf(source: Source): Uint8Array {
    return mac(this.#secret, text.encode(`${source.hostname} ${source.port}`));
  }
}
