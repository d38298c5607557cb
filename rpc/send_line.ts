// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The line of streams that have data to send, served a frame each in turn.
 *
 * @module
 */

import type { H2Stream } from "./h2_stream.ts";
import type { Session } from "./session.ts";
import { SmallWindow } from "./small_window.ts";

/** The line of one connection. */
export class SendLine {
  readonly #session: Session;
  #streams: H2Stream[] = [];
  /** Since when data has waited for the connection's window; 0 when none does. */
  #blockedSinceMs = 0;
  readonly #smallWindow: SmallWindow;

  constructor(session: Session) {
    this.#session = session;
    this.#smallWindow = new SmallWindow(session, () => this.pump());
  }

  /** Puts a stream at the end, unless it stands in line already. */
  add(stream: H2Stream): void {
    if (stream.inLine) return;
    stream.inLine = true;
    this.#streams.push(stream);
  }

  /** Sends data while the connection has room for it. */
  pump(): void {
    const session = this.#session;
    if (session.sendWindow > 0) this.#blockedSinceMs = 0;
    while (this.#streams.length > 0 && session.hasRoom) {
      const stream = this.#streams[0] as H2Stream;
      const { sendWindow } = session;
      if (sendWindow <= 0 && stream.hasQueue) {
        if (this.#blockedSinceMs === 0) this.#blockedSinceMs = performance.now();
        return;
      }
      if (sendWindow < stream.frameBytes && !this.#smallWindow.isWorthwhile(sendWindow)) return;
      this.#streams.shift();
      stream.inLine = false;
      // A stream whose own window is closed leaves the line until it opens.
      if (stream.sendFrame()) this.add(stream);
    }
    if (this.#streams.length === 0) this.#blockedSinceMs = 0;
  }

  /** Whether data has waited for the connection's window longer than is allowed. */
  isStalled(nowMs: number): boolean {
    // Streams that were given up leave the line only when it moves, and do not wait.
    this.pump();
    const sinceMs = this.#blockedSinceMs;
    return sinceMs > 0 && nowMs - sinceMs > this.#session.limits.windowStallMs;
  }

  /** Sends everybody away. */
  clear(): void {
    this.#streams = [];
    this.#blockedSinceMs = 0;
    this.#smallWindow.stop();
  }
}
