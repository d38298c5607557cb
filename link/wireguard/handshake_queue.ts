// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Initiations that wait for their turn, so that a storm of them never delays the data of others.
 *
 * An initiation costs a thousand times what refusing it costs. They are therefore worked off in
 * slices between packets. Once the oldest has waited too long the device is overloaded: from then
 * on only senders that have proven to receive at their address (by a cookie) are let in, and they
 * come first.
 *
 * @module
 */

import { Slab } from "../../base/slab.ts";
import type { Source } from "./cookies.ts";

/** Initiations that wait, of each kind. 5,000 machines that come back at once fit. */
const QUEUE_LIMIT = 8192;
/** Proven initiations of one address: half, so that one sender never shuts out all others. */
const SOURCE_LIMIT = QUEUE_LIMIT / 2;
/** Initiators try again after 5 s; what waited for that long was answered for nothing. */
const STALE_MS = 5000;
/**
 * Machines that come back all at once are answered before they try again, as long as they are no
 * more than the device can take until then: who is sent a cookie comes back only after those 5 s. A
 * storm fills the queue long before.
 */
const OVERLOAD_MS = 4000;
/** Cookies in a second, and at once, for hosts where a peer was seen, and for all others. */
const KNOWN_HOSTS = { perSecond: 2000, burst: 400 } as const;
const OTHER_HOSTS = { perSecond: 200, burst: 100 } as const;

/** A waiting initiation. */
export interface WaitingInitiation {
  readonly message: Uint8Array;
  readonly source: Source;
  readonly receivedMs: number;
}

/** The queue. */
export class HandshakeQueue {
  readonly #unproven = new Fifo<WaitingInitiation>();
  readonly #proven = new Fifo<WaitingInitiation>();
  /** All that wait are gone within seconds. */
  readonly #slab = new Slab();
  readonly #perSource = new Map<string, number>();
  #isOverloaded = false;
  readonly #knownCookies = new TokenBucket(KNOWN_HOSTS);
  readonly #otherCookies = new TokenBucket(OTHER_HOSTS);

  /** How many wait. */
  get length(): number {
    return this.#unproven.length + this.#proven.length;
  }

  /** Whether unproven senders have to prove themselves first. */
  isOverloaded(nowMs: number): boolean {
    const oldest = this.#unproven.first;
    if (oldest === undefined) {
      this.#isOverloaded = false;
    } else if (nowMs - oldest.receivedMs > OVERLOAD_MS || this.#unproven.length >= QUEUE_LIMIT) {
      this.#isOverloaded = true;
    }
    return this.#isOverloaded;
  }

  /** Whether one more cookie may go out; asking takes it. */
  takeCookie(isKnownHost: boolean, nowMs: number): boolean {
    return (isKnownHost ? this.#knownCookies : this.#otherCookies).take(nowMs);
  }

  /** Adds an initiation, whose memory may be used again; returns whether there was room. */
  add(message: Uint8Array, source: Source, receivedMs: number, isProven: boolean): boolean {
    const queue = isProven ? this.#proven : this.#unproven;
    if (queue.length >= QUEUE_LIMIT) return false;
    if (isProven) {
      const count = this.#perSource.get(source.hostname) ?? 0;
      if (count >= SOURCE_LIMIT) return false;
      this.#perSource.set(source.hostname, count + 1);
    }
    queue.push({ message: this.#slab.copy(message, 0, message.length), source, receivedMs });
    return true;
  }

  /** Takes the next; what is too old to be of use is skipped. */
  take(nowMs: number): WaitingInitiation | undefined {
    while (this.length > 0) {
      const next = this.#takeProven(nowMs) ?? takeFrom(this.#unproven, nowMs);
      if (next !== undefined && nowMs - next.receivedMs < STALE_MS) return next;
    }
    return undefined;
  }

  #takeProven(nowMs: number): WaitingInitiation | undefined {
    const next = takeFrom(this.#proven, nowMs);
    if (next === undefined) return undefined;
    const { hostname } = next.source;
    const count = (this.#perSource.get(hostname) ?? 1) - 1;
    if (count > 0) this.#perSource.set(hostname, count);
    else this.#perSource.delete(hostname);
    return next;
  }
}

/** So many a second, and a few at once. */
class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #filledMs = 0;

  constructor(limit: { readonly perSecond: number; readonly burst: number }) {
    this.#perMs = limit.perSecond / 1000;
    this.#burst = limit.burst;
    this.#tokens = limit.burst;
  }

  take(nowMs: number): boolean {
    const gained = (nowMs - this.#filledMs) * this.#perMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}

/**
 * The oldest, in fairness, unless it has waited too long: then the newest, whose sender still waits
 * for the answer, while that of the oldest is about to begin anew.
 */
function takeFrom(
  queue: Fifo<WaitingInitiation>,
  nowMs: number,
): WaitingInitiation | undefined {
  const oldest = queue.first;
  if (oldest === undefined) return undefined;
  return nowMs - oldest.receivedMs > OVERLOAD_MS ? queue.pop() : queue.shift();
}

/** A queue whose `shift` does not move the rest each time. */
class Fifo<T> {
  #items: T[] = [];
  #from = 0;

  get length(): number {
    return this.#items.length - this.#from;
  }

  get first(): T | undefined {
    return this.#items[this.#from];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  pop(): T | undefined {
    return this.length > 0 ? this.#items.pop() : undefined;
  }

  shift(): T | undefined {
    const item = this.#items[this.#from];
    if (item === undefined) return undefined;
    this.#from++;
    if (this.#from > 1024 || this.#from === this.#items.length) {
      this.#items = this.#items.slice(this.#from);
      this.#from = 0;
    }
    return item;
  }
}
