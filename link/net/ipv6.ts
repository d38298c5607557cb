// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * IPv6 headers and the checksum of what they carry.
 *
 * There are no extension headers and no fragments: both ends of the tunnel have the same MTU, which
 * is the smallest that IPv6 allows.
 *
 * @module
 */

import { addressKey } from "../addresses.ts";

/** Size of the header. */
export const IPV6_HEADER_SIZE = 40;
/** Offsets of the addresses in the header. */
export const SOURCE_OFFSET = 8;
export const DESTINATION_OFFSET = 24;

/** Values of the field "next header". */
export const PROTOCOL_TCP = 6;
export const PROTOCOL_ICMPV6 = 58;

const HOP_LIMIT = 64;

/** Writes the header of a packet that fills `packet`. */
export function writeIpv6Header(
  packet: Uint8Array,
  protocol: number,
  source: Uint8Array,
  destination: Uint8Array,
): void {
  const length = packet.length - IPV6_HEADER_SIZE;
  packet[0] = 0x60;
  packet[4] = length >> 8;
  packet[5] = length & 0xff;
  packet[6] = protocol;
  packet[7] = HOP_LIMIT;
  packet.set(source, SOURCE_OFFSET);
  packet.set(destination, DESTINATION_OFFSET);
}

/**
 * The Internet checksum over the pseudo-header and the content of an IPv6 packet.
 *
 * Over a packet whose checksum field is filled in, it is 0 exactly when that is right.
 */
export function checksum(packet: Uint8Array): number {
  const end = packet.length;
  // The pseudo-header is the addresses, which stand before the content, the length and the protocol.
  const sum = onesSum(packet, SOURCE_OFFSET, end, end - IPV6_HEADER_SIZE + (packet[6] ?? 0));
  return ~sum & 0xffff;
}

/** The one's complement sum of 16 bits over a range that begins at an even place, and more. */
export function onesSum(bytes: Uint8Array, from: number, to: number, more = 0): number {
  let sum = more;
  let i = from;
  for (; i + 1 < to; i += 2) sum += ((bytes[i] as number) << 8) | (bytes[i + 1] as number);
  if (i < to) sum += (bytes[i] as number) << 8;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}

/**
 * The packet at the start of `bytes`, without the padding behind it; `undefined` when it is none of
 * IPv6, is cut off, or goes between other addresses. Those are keys of `addressKey()`.
 */
export function packetBetween(
  bytes: Uint8Array,
  source: string,
  destination: string,
): Uint8Array | undefined {
  const length = IPV6_HEADER_SIZE + (((bytes[4] ?? 0) << 8) | (bytes[5] ?? 0));
  if (bytes.length < IPV6_HEADER_SIZE || (bytes[0] ?? 0) >> 4 !== 6) return undefined;
  if (length > bytes.length) return undefined;
  if (addressKey(bytes, SOURCE_OFFSET) !== source) return undefined;
  if (addressKey(bytes, DESTINATION_OFFSET) !== destination) return undefined;
  return bytes.subarray(0, length);
}
