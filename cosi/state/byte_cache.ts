// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A cache of bytes derived from objects, bounded by their size.
 *
 * Two generations: when the young one is full it becomes the old one, and what nobody asked for since
 * then goes. That costs no bookkeeping for each access.
 *
 * @module
 */

/** Bytes by the object that they were made from. */
export class ByteCache<K> {
  readonly #limit: number;
  #young = new Map<K, Uint8Array>();
  #old = new Map<K, Uint8Array>();
  #bytes = 0;

  /** @param limit Bytes of one generation; the cache holds up to twice as many. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The bytes of an object, made by `make` when they are not here. */
  get(key: K, make: (key: K) => Uint8Array): Uint8Array {
    const known = this.#young.get(key);
    if (known !== undefined) return known;
    const bytes = this.#old.get(key) ?? make(key);
    this.#young.set(key, bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > this.#limit) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    return bytes;
  }
}
