// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Numbers in packets, in the order of the network.
 *
 * @module
 */

/** Reads 16 bits. */
export function uint16(bytes: Uint8Array, offset: number): number {
  return ((bytes[offset] ?? 0) << 8) | (bytes[offset + 1] ?? 0);
}

/** Reads 32 bits. */
export function uint32(bytes: Uint8Array, offset: number): number {
  return ((uint16(bytes, offset) << 16) | uint16(bytes, offset + 2)) >>> 0;
}

/** Writes 16 bits. */
export function setUint16(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >> 8;
  bytes[offset + 1] = value & 0xff;
}

/** Writes 32 bits. */
export function setUint32(bytes: Uint8Array, offset: number, value: number): void {
  setUint16(bytes, offset, value >>> 16);
  setUint16(bytes, offset + 2, value & 0xffff);
}
