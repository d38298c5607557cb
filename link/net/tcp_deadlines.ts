// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The deadlines of one TCP connection, over one timer of the device's queue.
 *
 * @module
 */

import { NEVER, type Timer, type TimerQueue } from "../timers.ts";

/** Deadlines, in ms of the clock; `NEVER` when not set. */
export class TcpDeadlines {
  /** Everything unacknowledged counts as lost, or the SYN goes out again. */
  retransmit = NEVER;
  /** A loss probe goes out (RFC 8985). */
  probe = NEVER;
  /** What is still too young to be lost is looked at again. */
  reordering = NEVER;
  /** The next segment may go out. */
  pace = NEVER;
  delayedAck = NEVER;
  /** The closed window of the peer is probed. */
  persist = NEVER;
  /** The connection has waited long enough for stragglers. */
  linger = NEVER;
  keepalive = NEVER;
  readonly #timer: Timer;

  constructor(timers: TimerQueue, fire: (nowMs: number) => void) {
    this.#timer = timers.create(fire);
  }

  /** Nothing waits for an acknowledgement any more. */
  clearSending(): void {
    this.retransmit =
      this.probe =
      this.reordering =
      this.persist =
        NEVER;
  }

  /** Sets the timer for what comes first. */
  arm(): void {
    this.#timer.set(Math.min(
      this.retransmit,
      this.probe,
      this.reordering,
      this.pace,
      this.delayedAck,
      this.persist,
      this.linger,
      this.keepalive,
    ));
  }

  /** Nothing fires any more. */
  stop(): void {
    this.#timer.clear();
  }
}
