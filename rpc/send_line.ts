// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The line of streams that have data to send, served a frame each in turn.
 *
 * @module
 */

import type { H2Stream } from "./h2_stream.ts";
import type { Session } from "./session.ts";

/** The line of one connection. */
export class SendLine {
  readonly #session: Session;
  #streams: H2Stream[] = [];

  constructor(session: Session) {
    this.#session = session;
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
    while (this.#streams.length > 0 && session.hasRoom) {
      const stream = this.#streams[0] as H2Stream;
      if (session.sendWindow <= 0 && stream.hasQueue) return;
      this.#streams.shift();
      stream.inLine = false;
      // A stream whose own window is closed leaves the line until it opens.
      if (stream.sendFrame()) this.add(stream);
    }
  }

  /** Sends everybody away. */
  clear(): void {
    this.#streams = [];
  }
}
