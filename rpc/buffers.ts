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

// How long a buffer lies unused before it is let go.
const UNUSED_MS = 1000;

const free: Uint8Array[][] = Array.from({ length: CLASSES }, () => []);

/** The fewest that lay in each class since the last {@linkcode trimBuffers}. */
const fewest = new Array<number>(CLASSES).fill(0);
let trimmedAtMs = 0;

function classOf(bytes: number): number {
  return Math.max(0, 32 - Math.clz32(bytes - 1) - SMALLEST_BITS);
}

/** A buffer of at least `bytes`, with whatever content. */
export function takeBuffer(bytes: number): Uint8Array {
  const kind = classOf(bytes);
  if (kind >= CLASSES) return new Uint8Array(bytes);
  const list = free[kind] as Uint8Array[];
  const buffer = list.pop();
  if (list.length < (fewest[kind] as number)) fewest[kind] = list.length;
  return buffer ?? new Uint8Array(1 << (kind + SMALLEST_BITS));
}

/** Gives a buffer of {@linkcode takeBuffer} back; nobody may use it afterwards. */
export function giveBuffer(buffer: Uint8Array): void {
  const list = free[classOf(buffer.length)];
  if (list === undefined) return;
  if ((list.length + 1) * buffer.length <= KEPT_BYTES_PER_CLASS) list.push(buffer);
}

/**
 * Lets go of what nobody has taken for a while. Sessions call it with their checks, so that what a
 * crowd of them has left behind goes when they are gone.
 */
export function trimBuffers(nowMs: number): void {
  if (nowMs - trimmedAtMs < UNUSED_MS) return;
  trimmedAtMs = nowMs;
  for (const [kind, list] of free.entries()) {
    list.splice(0, fewest[kind] as number);
    fewest[kind] = list.length;
  }
}
