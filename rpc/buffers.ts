// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Buffers that go round, so that a session without work holds none.
 *
 * @module
 */

// From 1 KiB to 256 KiB by powers of two.
const SMALLEST_BITS = 10;
const CLASSES = 9;

// A class keeps this much; what comes back beyond it is left to the collector.
const KEPT_BYTES_PER_CLASS = 1024 * 1024;

const free: Uint8Array[][] = Array.from({ length: CLASSES }, () => []);

function classOf(bytes: number): number {
  return Math.max(0, 32 - Math.clz32(bytes - 1) - SMALLEST_BITS);
}

/** A buffer of at least `bytes`, with whatever content. */
export function takeBuffer(bytes: number): Uint8Array {
  const kind = classOf(bytes);
  if (kind >= CLASSES) return new Uint8Array(bytes);
  return free[kind]?.pop() ?? new Uint8Array(1 << (kind + SMALLEST_BITS));
}

/** Gives a buffer of {@linkcode takeBuffer} back; nobody may use it afterwards. */
export function giveBuffer(buffer: Uint8Array): void {
  const list = free[classOf(buffer.length)];
  if (list === undefined) return;
  if ((list.length + 1) * buffer.length <= KEPT_BYTES_PER_CLASS) list.push(buffer);
}
