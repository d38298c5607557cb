// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Numbers that stores keep: 8 bytes each, big-endian.
 *
 * @module
 */

import type { Kind } from "../resource.ts";

/** The numbers of a kind: the revision of its last change and how many resources it has. */
export interface KindNumbers {
  readonly revision: number;
  readonly count: number;
}

/** One text for a kind, by which a store finds its numbers. */
export function kindKey({ namespace, type }: Kind): string {
  return `${namespace}\0${type}`;
}

/** Writes numbers as 8 bytes each, big-endian. */
export function encodeNumbers(...numbers: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(numbers.length * 8);
  const view = new DataView(bytes.buffer);
  numbers.forEach((number, index) => view.setBigUint64(index * 8, BigInt(number)));
  return bytes;
}

/** Reads the number at an index; 0 where there is none. */
export function decodeNumber(bytes: Uint8Array | undefined, index = 0): number {
  if (bytes === undefined || bytes.length < index * 8 + 8) return 0;
  return Number(
    new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(index * 8),
  );
}
