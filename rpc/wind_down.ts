// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The end of a connection whose last frames are to reach the peer.
 *
 * @module
 */

import type { FrameReader } from "./frame_reader.ts";
import type { Outbox } from "./outbox.ts";
import type { ByteStream } from "./stream.ts";
import { coarseWheel, type WheelTimer } from "./timer_wheel.ts";

// How long, and over how many bytes, the last frames may take to reach the peer.
const LINGER_MS = 1000;
const LINGER_BYTES = 1024 * 1024;

/**
 * Sends what is left and waits a moment for the peer to read it. Closing at once, with bytes of the
 * peer unread, would reset the connection and take the last frames with it.
 */
export class WindDown {
  readonly #stream: ByteStream;
  readonly #outbox: Outbox;
  #timer: WheelTimer | undefined;
  #discarded = 0;

  constructor(stream: ByteStream, outbox: Outbox) {
    this.#stream = stream;
    this.#outbox = outbox;
  }

  /** Begins it. */
  start(): void {
    this.#timer = coarseWheel.schedule(LINGER_MS, () => this.#outbox.close());
    this.#outbox.finish().then(() => this.#stream.closeWrite()).catch(() => this.#outbox.close());
  }

  /** Drops what was read after the end; returns whether to go on reading. */
  discard(reader: FrameReader): boolean {
    const { unreadBytes } = reader;
    this.#discarded += unreadBytes;
    reader.skip(unreadBytes);
    return this.#timer !== undefined && this.#discarded < LINGER_BYTES;
  }

  /** Ends the wait. */
  stop(): void {
    this.#timer?.cancel();
  }
}
