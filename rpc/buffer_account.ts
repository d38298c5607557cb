// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Bytes that are held for a peer, counted against the limits of its connection and of the server.
 *
 * @module
 */

import type { Limits } from "./limits.ts";

/** Bytes that are held for peers, over all sessions that share it. */
export interface BufferBudget {
  /** Received and not yet done with. */
  heldBytes: number;
  readonly maxHeldBytes: number;
  /** Waiting to be sent. */
  unsentBytes: number;
  readonly maxUnsentBytes: number;
}

/** The account of one connection. */
export class BufferAccount {
  readonly #limits: Limits;
  readonly #budget: BufferBudget;
  #heldBytes = 0;
  #unsentBytes = 0;

  constructor(limits: Limits, budget: BufferBudget) {
    this.#limits = limits;
    this.#budget = budget;
  }

  /** Accounts for received bytes that are held. Returns `false` when they are too many. */
  hold(bytes: number): boolean {
    if (
      this.#heldBytes + bytes > this.#limits.maxConnectionBufferBytes ||
      this.#budget.heldBytes + bytes > this.#budget.maxHeldBytes
    ) return false;
    this.#heldBytes += bytes;
    this.#budget.heldBytes += bytes;
    return true;
  }

  /** Ends the account of bytes that were held. */
  unhold(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#budget.heldBytes -= bytes;
  }

  /** Accounts for bytes that wait to be sent; negative when they no longer do. */
  noteUnsent(bytes: number): void {
    this.#unsentBytes += bytes;
    this.#budget.unsentBytes += bytes;
  }

  /** Whether a reply of so many bytes may still wait for a peer that does not take its replies. */
  mayWait(bytes: number): boolean {
    return this.#unsentBytes + bytes <= this.#limits.maxConnectionUnsentBytes &&
      this.#budget.unsentBytes + bytes <= this.#budget.maxUnsentBytes;
  }
}
