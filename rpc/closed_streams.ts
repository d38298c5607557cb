// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Streams that ended a short while ago.
 *
 * Frames may be under way on a stream that this side has reset, and have to be ignored; on a stream
 * that ended by itself they are a fault (RFC 9113 §5.1).
 *
 * @module
 */

const REMEMBERED = 128;

/** Remembers the latest streams of a connection that are over. */
export class ClosedStreams {
  #reset: number[] | undefined;
  #finished: number[] | undefined;

  /** Remembers a stream; `byUs` when this side has reset it. */
  add(id: number, byUs: boolean): void {
    const list = byUs ? this.#reset ??= [] : this.#finished ??= [];
    list.push(id);
    if (list.length > REMEMBERED) list.splice(0, REMEMBERED / 2);
  }

  /** Whether frames on a stream may still be under way. */
  mayReceive(id: number): boolean {
    return this.#reset?.includes(id) ?? false;
  }

  /** Whether a stream is known to have ended by itself or by the peer. */
  isFinished(id: number): boolean {
    return this.#finished?.includes(id) ?? false;
  }

  /** The peer has reset the stream too: what it sends from here on cannot have been under way. */
  notePeerReset(id: number): void {
    const at = this.#reset?.indexOf(id) ?? -1;
    if (at >= 0) this.#reset?.splice(at, 1);
  }
}
