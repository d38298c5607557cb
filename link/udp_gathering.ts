// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Lets datagrams that are in no hurry come together before they are taken from the socket.
 *
 * To be woken costs some 0.1 ms where nothing else keeps caches warm, more than a keepalive does.
 * Thousands of idle machines are therefore read ten times a second, while a few are answered at once.
 *
 * @module
 */

/** How long datagrams gather; the first packet after a silence of all machines may wait so long. */
const GATHER_MS = 100;
/** What a second must bring for that to be worth it: some 4,000 idle machines. */
const LEAST_PER_SECOND = 200;
/** What it may bring: so many that gather fit the buffer that a socket has by default. */
const MOST_PER_SECOND = 2000;
/** Over how long that is counted. */
const COUNT_MS = 1000;

/** The gathering of one socket. */
export class Gathering {
  readonly #nowMs: () => number;
  readonly #gatherMs: number;
  #countedSinceMs: number;
  #count = 0;
  #isSteady = false;
  #end: (() => void) | undefined;

  constructor(nowMs: () => number, gatherMs = GATHER_MS) {
    this.#nowMs = nowMs;
    this.#gatherMs = gatherMs;
    this.#countedSinceMs = nowMs();
  }

  /** Whether so many come that it is worth it, as the last second tells. */
  get isWorthwhile(): boolean {
    return this.#isSteady;
  }

  /** Datagrams came in. */
  note(count: number): void {
    this.#count += count;
    const elapsedMs = this.#nowMs() - this.#countedSinceMs;
    if (elapsedMs < COUNT_MS) return;
    const perSecond = this.#count * 1000 / elapsedMs;
    this.#isSteady = perSecond >= LEAST_PER_SECOND && perSecond <= MOST_PER_SECOND;
    this.#countedSinceMs += elapsedMs;
    this.#count = 0;
  }

  /** Whether datagrams gather just now. */
  get isWaiting(): boolean {
    return this.#end !== undefined;
  }

  /** Resolves when enough time has passed, or {@linkcode end} is called. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end?.(), this.#gatherMs);
      this.#end = () => {
        clearTimeout(timer);
        this.#end = undefined;
        resolve();
      };
    });
  }

  /** Ends a wait: somebody is in a hurry now. */
  end(): void {
    this.#end?.();
  }
}
