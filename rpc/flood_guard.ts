// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Counts what a peer can send at no cost of its own, and ends the connection when it is too much.
 *
 * @module
 */

import { ConnectionFault, Http2Code } from "./frames.ts";

/** What is counted. */
export const Flood = {
  Reset: 0,
  Settings: 1,
  Ping: 2,
  Ignored: 3,
  Empty: 4,
  SmallWindow: 5,
} as const;

const NAMES = ["reset", "SETTINGS", "PING", "ignored", "empty", "small WINDOW_UPDATE"];
const PERIOD_MS = 10_000;

// Counts between two looks at the clock: so many of an earlier period may be counted with this one.
const BETWEEN_LOOKS = 64;

/** Counters of one connection, started anew every ten seconds. */
export class FloodGuard {
  readonly #limits: readonly number[];
  readonly #counts = [0, 0, 0, 0, 0, 0];
  readonly #nowMs: () => number;
  #periodStartMs: number;

  /**
   * @param limits How many of each kind ten seconds may bring, in the order of {@linkcode Flood}.
   * @param nowMs A clock in milliseconds.
   */
  constructor(limits: readonly number[], nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#periodStartMs = nowMs();
  }

  /** Counts one. Throws a {@linkcode ConnectionFault} when it is one too many. */
  count(kind: number): void {
    const count = (this.#counts[kind] as number) + 1;
    this.#counts[kind] = count;
    const isTooMany = count > (this.#limits[kind] as number);
    if (!isTooMany && count % BETWEEN_LOOKS !== 0) return;
    const now = this.#nowMs();
    if (now - this.#periodStartMs > PERIOD_MS) {
      this.#periodStartMs = now;
      this.#counts.fill(0);
      this.#counts[kind] = 1;
      return;
    }
    if (!isTooMany) return;
    throw new ConnectionFault(Http2Code.EnhanceYourCalm, `Too many ${NAMES[kind]} frames`);
  }

  /** Starts one counter anew. */
  forgive(kind: number): void {
    this.#counts[kind] = 0;
  }
}
