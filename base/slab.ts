// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Small pieces of memory, cut out of larger ones.
 *
 * The runtime keeps the bytes of each array outside of its heap: to allocate and to free 24 of them
 * takes 0.5 µs and 600 of them 0.9 µs, a view on memory that is there 0.05 µs.
 *
 * @module
 */

const SLAB_BYTES = 16 * 1024;

/** Larger pieces are memory of their own, so that at least so many go into one slab. */
const PIECES = 8;

/**
 * Where pieces are cut from that live shortly, or about as long as their neighbours: one that is
 * kept keeps its whole slab.
 */
export class Slab {
  #slab = NOTHING;
  #at = 0;

  /** A piece of memory; its bytes are 0. */
  take(bytes: number): Uint8Array {
    if (bytes > SLAB_BYTES / PIECES) return new Uint8Array(bytes);
    if (this.#slab.length - this.#at < bytes) {
      this.#slab = new Uint8Array(SLAB_BYTES);
      this.#at = 0;
    }
    const start = this.#at;
    this.#at += bytes;
    return this.#slab.subarray(start, this.#at);
  }

  /** A copy of a part of `source`. */
  copy(source: Uint8Array, start: number, end: number): Uint8Array {
    if (end - start > SLAB_BYTES / PIECES) return source.slice(start, end);
    const piece = this.take(end - start);
    piece.set(source.subarray(start, end));
    return piece;
  }
}

const NOTHING = new Uint8Array(0);
