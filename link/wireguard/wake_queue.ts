// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Peers to go to after a restart, a bounded number at a time: more answers than that at once would
 * not fit the socket's buffer, and whoever is lost tries again only after 5 s.
 *
 * @module
 */

import type { Timer, TimerQueue } from "../timers.ts";
import type { Peer } from "./peer.ts";

/** Handshakes on the way; half of what the default receive buffer holds. */
const AT_ONCE = 128;
/** A peer that is silent for this long no longer holds back others. */
const SILENT_MS = 1000;

/** The queue. */
export class WakeQueue {
  #waiting: Peer[] = [];
  /** When each handshake on the way was begun, in that order. */
  readonly #begun = new Map<Peer, number>();
  readonly #timer: Timer;
  readonly #nowMs: () => number;

  constructor(timers: TimerQueue, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#timer = timers.create((atMs) => this.#run(atMs));
  }

  /** Adds a peer. */
  add(peer: Peer): void {
    this.#waiting.push(peer);
    this.#timer.set(this.#nowMs());
  }

  /** A peer was heard of. */
  heard(peer: Peer): void {
    if (this.#begun.delete(peer) && this.#waiting.length > 0) this.#timer.set(this.#nowMs());
  }

  #run(nowMs: number): void {
    for (const [peer, begunMs] of this.#begun) {
      if (nowMs - begunMs < SILENT_MS) break;
      this.#begun.delete(peer);
    }
    let taken = 0;
    for (; taken < this.#waiting.length && this.#begun.size < AT_ONCE; taken++) {
      const peer = this.#waiting[taken];
      // It may have come by itself in the meantime, or be gone.
      if (peer === undefined || peer.isRemoved || peer.current !== undefined) continue;
      peer.startHandshake(nowMs);
      this.#begun.set(peer, nowMs);
    }
    this.#waiting = this.#waiting.slice(taken);
    if (this.#waiting.length > 0) this.#timer.set(nowMs + SILENT_MS / 10);
  }
}
