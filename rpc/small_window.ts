// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Patience with small windows.
 *
 * A peer that opens its window by a few bytes at a time would have a frame and a write for each of
 * them, of a server that does nothing else then. So what a small window allows is sent when it has
 * become worth a frame, or after a moment.
 *
 * @module
 */

import type { Session } from "./session.ts";
import { fineWheel, type WheelTimer } from "./timer_wheel.ts";
import { lineTurn } from "./turns.ts";

/** From how many bytes on a window is worth a frame that does not hold all there is to send. */
const WORTHWHILE_BYTES = 256;

// TCP has the same patience, of 0.1 to 1 s (RFC 1122 §4.2.3.4).
const MOMENT_MS = 200;

/** The patience with one window. */
export class SmallWindow {
  readonly #session: Session;
  readonly #onMoment: () => void;
  #timer: WheelTimer | undefined;
  #hasPassed = false;

  /** @param onMoment Called when what the window allows may be sent after all. */
  constructor(session: Session, onMoment: () => void) {
    this.#session = session;
    this.#onMoment = onMoment;
  }

  /** Whether less than there is to send may be sent now; if not, it may be after a moment. */
  isWorthwhile(window: number): boolean {
    if (window >= WORTHWHILE_BYTES || this.#hasPassed) {
      this.stop();
      return true;
    }
    if (this.#timer === undefined) {
      this.#session.noteSmallWindow();
      const timer = fineWheel.schedule(MOMENT_MS, () => void this.#pass(timer));
      this.#timer = timer;
    }
    return false;
  }

  /** Whether a window that has opened to this is still given time. */
  isPatient(window: number): boolean {
    return this.#timer !== undefined && window < WORTHWHILE_BYTES;
  }

  /** Forgets the moment. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#hasPassed = false;
  }

  async #pass(timer: WheelTimer): Promise<void> {
    // Such a peer is in no hurry.
    const turn = lineTurn();
    if (turn !== undefined) await turn;
    if (this.#timer !== timer) return;
    this.#timer = undefined;
    this.#hasPassed = true;
    this.#session.protect(this.#onMoment);
  }
}
