// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Peers to go to after a restart, a bounded number at a time: more answers than that at once would
 * not fit the socket's buffer.
 *
 * Who does not answer is asked once more when all others were, before the 5 s after which a
 * handshake is repeated by itself: the answer may have been lost here, where so much comes in.
 *
 * @module
 */

import { NEVER, type Timer, type TimerQueue } from "../timers.ts";
import type { Peer } from "./peer.ts";

/** Handshakes on the way; half of what the default receive buffer holds. */
const AT_ONCE = 128;
/**
 * A peer that is silent for four times as long as answers take no longer holds back others; within
 * these limits.
 */
const SILENT_FACTOR = 4;
const LEAST_SILENT_MS = 500;
const MOST_SILENT_MS = 4000;
/**
 * After this long, and twice the silence, it is asked again. An answer that is only late is lost by
 * that, because it belongs to the first question.
 */
const REPEAT_MS = 2000;
/** From then on the handshake is about to be repeated by itself. */
const LATEST_REPEAT_MS = 4500;
/** How often silence is looked for. */
const LOOK_MS = 100;

/** When a peer was asked. */
interface Asked {
  readonly atMs: number;
  readonly isRepeated: boolean;
}

/** The queue. */
export class WakeQueue {
  #waiting: Peer[] = [];
  /** The handshakes on the way, and those that got no answer, both in the order of their times. */
  readonly #begun = new Map<Peer, Asked>();
  readonly #silent = new Map<Peer, Asked>();
  /** How long answers take, smoothed: the peers' time, and ours when we lag behind. */
  #answerMs = LEAST_SILENT_MS / SILENT_FACTOR;
  readonly #timer: Timer;
  readonly #nowMs: () => number;

  constructor(timers: TimerQueue, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#timer = timers.create((atMs) => this.#run(atMs));
  }

  /** Whether nobody is gone to just now. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#begun.size === 0;
  }

  /** Adds a peer. */
  add(peer: Peer): void {
    this.#waiting.push(peer);
    this.#timer.set(this.#nowMs());
  }

  /** A peer was heard of. */
  heard(peer: Peer): void {
    const asked = this.#begun.get(peer) ?? this.#silent.get(peer);
    if (asked === undefined) return;
    const nowMs = this.#nowMs();
    this.#answerMs += (nowMs - asked.atMs - this.#answerMs) / 8;
    this.#silent.delete(peer);
    if (this.#begun.delete(peer) && this.#waiting.length > 0) this.#timer.set(nowMs);
  }

  #run(nowMs: number): void {
    const silentMs = Math.min(
      Math.max(SILENT_FACTOR * this.#answerMs, LEAST_SILENT_MS),
      MOST_SILENT_MS,
    );
    for (const [peer, asked] of this.#begun) {
      if (nowMs - asked.atMs < silentMs) break;
      this.#begun.delete(peer);
      if (!asked.isRepeated) this.#silent.set(peer, asked);
    }
    let taken = 0;
    for (; taken < this.#waiting.length && this.#begun.size < AT_ONCE; taken++) {
      const peer = this.#waiting[taken];
      if (peer === undefined || isDone(peer)) continue;
      peer.startHandshake(nowMs);
      this.#begun.set(peer, { atMs: nowMs, isRepeated: false });
    }
    this.#waiting = this.#waiting.slice(taken);
    if (this.#waiting.length === 0) this.#repeat(Math.max(REPEAT_MS, 2 * silentMs), nowMs);
    this.#timer.set(this.#nextMs(nowMs));
  }

  #repeat(afterMs: number, nowMs: number): void {
    for (const [peer, { atMs }] of this.#silent) {
      if (nowMs - atMs < afterMs || this.#begun.size >= AT_ONCE) break;
      this.#silent.delete(peer);
      if (isDone(peer) || nowMs - atMs > LATEST_REPEAT_MS) continue;
      peer.repeatHandshake(nowMs);
      this.#begun.set(peer, { atMs: nowMs, isRepeated: true });
    }
  }

  #nextMs(nowMs: number): number {
    return this.isIdle && this.#silent.size === 0 ? NEVER : nowMs + LOOK_MS;
  }
}

/** Whether a peer has come by itself in the meantime, or is gone. */
function isDone(peer: Peer): boolean {
  return peer.isRemoved || peer.current !== undefined;
}
