// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A byte buffer that is consumed at the front and written at any offset behind it, and the pool
 * that its memory comes from.
 *
 * A buffer holds no memory while it is unused, and grows with what is written, up to its owner's
 * limit.
 *
 * @module
 */

const SMALLEST = 4096;
/** Growing in few steps copies less. */
const GROWTH = 4;
/** Memory that the pool keeps of each size, in bytes. */
const KEPT_BYTES = 1024 * 1024;
const EMPTY = new Uint8Array(0);

/** Memory for rings, in sizes of 4 KiB times a power of four; what comes back is used again. */
export class RingPool {
  readonly #free = new Map<number, Uint8Array[]>();
  #usedBytes = 0;

  /** Memory that rings hold at this moment. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Memory for at least `size` bytes; it may hold what somebody wrote before. */
  take(size: number): Uint8Array {
    let capacity = SMALLEST;
    while (capacity < size) capacity *= GROWTH;
    this.#usedBytes += capacity;
    return this.#free.get(capacity)?.pop() ?? new Uint8Array(capacity);
  }

  /** Takes memory back. */
  give(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#usedBytes -= bytes.length;
    let free = this.#free.get(bytes.length);
    if (free === undefined) this.#free.set(bytes.length, free = []);
    if (free.length * bytes.length < KEPT_BYTES) free.push(bytes);
  }
}

/** The buffer. Which of its bytes are meaningful is its owner's business. */
export class Ring {
  #bytes: Uint8Array = EMPTY;
  #head = 0;
  readonly #pool: RingPool;

  constructor(pool: RingPool) {
    this.#pool = pool;
  }

  /** Copies `data` to `offset` bytes behind the front. */
  write(offset: number, data: Uint8Array): void {
    if (data.length === 0) return;
    this.#reserve(offset + data.length);
    const capacity = this.#bytes.length;
    const at = (this.#head + offset) % capacity;
    const first = Math.min(data.length, capacity - at);
    this.#bytes.set(first === data.length ? data : data.subarray(0, first), at);
    if (first < data.length) this.#bytes.set(data.subarray(first), 0);
  }

  /** Copies `length` bytes from `offset` behind the front to `target` at `targetOffset`. */
  copy(offset: number, length: number, target: Uint8Array, targetOffset: number): void {
    const capacity = this.#bytes.length;
    if (length === 0 || capacity === 0) return;
    const at = (this.#head + offset) % capacity;
    const first = Math.min(length, capacity - at);
    target.set(this.#bytes.subarray(at, at + first), targetOffset);
    if (first < length) {
      target.set(this.#bytes.subarray(0, length - first), targetOffset + first);
    }
  }

  /** Moves the front on. */
  consume(length: number): void {
    if (this.#bytes.length > 0) this.#head = (this.#head + length) % this.#bytes.length;
  }

  /** Gives the memory back; the content is lost. */
  release(): void {
    this.#pool.give(this.#bytes);
    this.#bytes = EMPTY;
    this.#head = 0;
  }

  #reserve(size: number): void {
    const old = this.#bytes;
    if (size <= old.length) return;
    const bytes = this.#pool.take(size);
    this.copy(0, old.length, bytes, 0);
    this.#pool.give(old);
    this.#bytes = bytes;
    this.#head = 0;
  }
}
