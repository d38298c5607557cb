// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Sizes, field offsets and limits of the WireGuard protocol, from its public description.
 *
 * @module
 */

/** Message types: the first byte; the three after it are zero. */
export const INITIATION = 1;
export const RESPONSE = 2;
export const COOKIE_REPLY = 3;
export const TRANSPORT = 4;

export const INITIATION_SIZE = 148;
export const RESPONSE_SIZE = 92;
export const COOKIE_REPLY_SIZE = 64;
/** Type, receiver index and counter, before the sealed packet. */
export const TRANSPORT_HEADER_SIZE = 16;
/** A transport message without content: header and tag. */
const KEEPALIVE_SIZE = 32;
/** Both MACs stand at the end of initiation and response. */
export const MACS_SIZE = 32;
/** Content is padded with zeros to a multiple of this. */
export const PADDING = 16;

/** Largest inner packet on both ends of the tunnel; the smallest MTU that IPv6 allows. */
export const MTU = 1280;

export const REKEY_AFTER_MS = 120_000;
export const REJECT_AFTER_MS = 180_000;
export const REKEY_ATTEMPT_MS = 90_000;
export const REKEY_TIMEOUT_MS = 5_000;
/** Upper bound of what is added to a retry, so that peers do not retry in step. */
export const REKEY_JITTER_MS = 333;
export const KEEPALIVE_MS = 10_000;
export const COOKIE_LIFETIME_MS = 120_000;
export const COOKIE_LATENCY_MS = 5_000;
export const ZERO_KEYS_AFTER_MS = 3 * REJECT_AFTER_MS;
/** A peer's initiations that follow each other faster are dropped. */
export const INITIATION_SPACING_MS = 20;

/**
 * Message numbers of a session. The protocol allows 2^64 - 2^13 - 1 and asks for new keys after
 * 2^60; a JavaScript number counts exactly to 2^53, which a million packets a second reach after
 * 285 years, and stopping early is always allowed.
 */
export const REJECT_AFTER_MESSAGES = 2 ** 53 - 2 ** 13 - 1;
export const REKEY_AFTER_MESSAGES = 2 ** 50;

/** Reads 32 bits, little-endian, as an unsigned number. */
export function readUint32(bytes: Uint8Array, offset: number): number {
  return (((bytes[offset] ?? 0) | ((bytes[offset + 1] ?? 0) << 8) |
    ((bytes[offset + 2] ?? 0) << 16)) + (bytes[offset + 3] ?? 0) * 0x100_0000) >>> 0;
}

/** Writes 32 bits, little-endian. */
export function writeUint32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value & 0xff;
  bytes[offset + 1] = (value >>> 8) & 0xff;
  bytes[offset + 2] = (value >>> 16) & 0xff;
  bytes[offset + 3] = (value >>> 24) & 0xff;
}

/** Reads the 64-bit counter of a transport message; above 2^53 it is only known to be too large. */
export function readCounter(bytes: Uint8Array, offset: number): number {
  return readUint32(bytes, offset) + readUint32(bytes, offset + 4) * 0x1_0000_0000;
}

/**
 * The type of a message whose size fits that type, or `undefined`.
 *
 * Everything behind this check may read the fields of its type without looking at sizes again.
 */
export function messageType(bytes: Uint8Array): number | undefined {
  if (bytes.length < KEEPALIVE_SIZE || (bytes[1] ?? 0) | (bytes[2] ?? 0) | (bytes[3] ?? 0)) {
    return undefined;
  }
  const type = bytes[0];
  switch (type) {
    case INITIATION:
      return bytes.length === INITIATION_SIZE ? type : undefined;
    case RESPONSE:
      return bytes.length === RESPONSE_SIZE ? type : undefined;
    case COOKIE_REPLY:
      return bytes.length === COOKIE_REPLY_SIZE ? type : undefined;
    case TRANSPORT:
      return type;
    default:
      return undefined;
  }
}

/** A TAI64N timestamp of a wall-clock time in ms: 8 bytes of seconds, 4 of nanoseconds, big-endian. */
export function tai64n(epochMs: number): Uint8Array {
  const bytes = new Uint8Array(12);
  const view = new DataView(bytes.buffer);
  const seconds = Math.floor(epochMs / 1000);
  // 2^62 + 10 s is the TAI second of the Unix epoch.
  view.setBigUint64(0, 0x400000000000000an + BigInt(seconds));
  view.setUint32(8, Math.floor((epochMs - seconds * 1000) * 1e6));
  return bytes;
}

/** Whether timestamp `a` is later than `b`. */
export function isLater(a: Uint8Array, b: Uint8Array): boolean {
  for (let i = 0; i < 12; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
