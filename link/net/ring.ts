// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A byte buffer that is consumed at the front and written at any offset behind it.
 *
 * It holds no memory while it is unused, and grows with what is written, up to its owner's limit.
 *
 * @module
 */

const SMALLEST = 4096;
const EMPTY = new Uint8Array(0);

/** The buffer. Which of its bytes are meaningful is its owner's business. */
export class Ring {
  #bytes: Uint8Array = EMPTY;
  #head = 0;
  readonly #onResize: (bytes: number) => void;

  /** @param onResize Told by how many bytes the memory has grown or shrunk. */
  constructor(onResize: (bytes: number) => void = () => {}) {
    this.#onResize = onResize;
  }

  /** Memory held. */
  get capacity(): number {
    return this.#bytes.length;
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
    this.#onResize(-this.#bytes.length);
    this.#bytes = EMPTY;
    this.#head = 0;
  }

  #reserve(size: number): void {
    const old = this.#bytes.length;
    if (size <= old) return;
    let capacity = Math.max(SMALLEST, old);
    while (capacity < size) capacity *= 2;
    const bytes = new Uint8Array(capacity);
    this.copy(0, old, bytes, 0);
    this.#bytes = bytes;
    this.#head = 0;
    this.#onResize(capacity - old);
  }
}
