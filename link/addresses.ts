// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * IPv6 addresses as bytes, as canonical text and as map keys, and the prefixes of the tunnel.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";

/** The prefix of all tunnel addresses; fixed by the siderolink protocol. */
export const TUNNEL_PREFIX = "fdae:41e4:649b:9303::/64";

/** The server's own address inside the tunnel. */
export { SERVER_TUNNEL_ADDRESS as SERVER_ADDRESS } from "../base/tunnel.ts";

/** The prefix of endpoint names of machines whose packets come over gRPC; nothing is routed to it. */
export const VIRTUAL_PREFIX = "fdae:41e4:649b:9304::/64";

/** The port that goes with an address of {@linkcode VIRTUAL_PREFIX}. */
export const VIRTUAL_PORT = 50888;

/** Returns `size` random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

/** The random bytes of the runtime, fit for keys. */
export const secureRandom: RandomBytes = (size) => crypto.getRandomValues(new Uint8Array(size));

const GROUP = /^[0-9a-f]{1,4}$/i;
const DECIMAL_BYTE = /^(?:0|[1-9][0-9]{0,2})$/;

/** Reads an IPv6 address in any form of RFC 4291; returns `undefined` when it is none. */
export function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split("::");
  if (halves.length > 2 || text.length > 45) return undefined;
  const head = parseGroups(halves[0] ?? "", halves.length === 1);
  const tail = parseGroups(halves[1] ?? "", true);
  if (head === undefined || tail === undefined) return undefined;
  const missing = 16 - head.length - tail.length;
  // "::" stands for at least one group.
  if (halves.length === 2 ? missing < 2 : missing !== 0) return undefined;
  return Uint8Array.from([...head, ...new Array<number>(missing).fill(0), ...tail]);
}

function parseGroups(text: string, isEnd: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (GROUP.test(group)) {
      const value = parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
      continue;
    }
    const dotted = isEnd && index === groups.length - 1 ? parseIpv4(group) : undefined;
    if (dotted === undefined) return undefined;
    bytes.push(...dotted);
  }
  return bytes;
}

/** Reads a dotted IPv4 address; returns `undefined` when it is none. */
export function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => DECIMAL_BYTE.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? Uint8Array.from(bytes) : undefined;
}

/** Writes an address in the canonical form of RFC 5952. */
export function formatIpv6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => groupAt(bytes, i));
  let bestStart = -1;
  let bestLength = 1;
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > bestLength) [bestStart, bestLength] = [start, length];
  }
  const hex = (from: number, to: number): string =>
    groups.slice(from, to).map((group) => group.toString(16)).join(":");
  if (bestStart < 0) return hex(0, 8);
  return `${hex(0, bestStart)}::${hex(bestStart + bestLength, 8)}`;
}

function groupAt(bytes: Uint8Array, index: number): number {
  return ((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0);
}

/**
 * The canonical text of an address, with or without the length of a prefix behind it.
 *
 * @throws CodedError `invalidArgument` when the text holds no IPv6 address.
 */
export function canonicalIpv6(text: string): string {
  return formatIpv6(ipv6Bytes(text));
}

/**
 * The bytes of an address, with or without the length of a prefix behind it.
 *
 * @throws CodedError `invalidArgument` when the text holds no IPv6 address.
 */
export function ipv6Bytes(text: string): Uint8Array {
  const bytes = parseIpv6(text.replace(/\/\d{1,3}$/, ""));
  if (bytes === undefined) {
    throw new CodedError("invalidArgument", `Cannot read IPv6 address: current value is "${text}"`);
  }
  return bytes;
}

/** Whether an address lies in {@linkcode TUNNEL_PREFIX}. */
export function isTunnelAddress(bytes: Uint8Array): boolean {
  return startsWithPrefix(bytes, TUNNEL_PREFIX);
}

/** Whether an address lies in {@linkcode VIRTUAL_PREFIX}. */
export function isVirtualAddress(bytes: Uint8Array): boolean {
  return startsWithPrefix(bytes, VIRTUAL_PREFIX);
}

function startsWithPrefix(bytes: Uint8Array, prefix: string): boolean {
  const expected = ipv6Bytes(prefix);
  return bytes.length === 16 && bytes.subarray(0, 8).every((byte, i) => byte === expected[i]);
}

/** A random machine address of the tunnel, never the server's. */
export function randomNodeAddress(random: RandomBytes = secureRandom): string {
  return randomIn(TUNNEL_PREFIX, random);
}

/** A random endpoint name for a machine whose packets come over gRPC. */
export function randomVirtualAddress(random: RandomBytes = secureRandom): string {
  return randomIn(VIRTUAL_PREFIX, random);
}

function randomIn(prefix: string, random: RandomBytes): string {
  const bytes = ipv6Bytes(prefix);
  // Host parts 0 (the subnet's anycast address) and 1 (the server) are reserved; all with seven
  // leading zero bytes are left out with them.
  do bytes.set(random(8), 8); while (bytes.subarray(8, 15).every((byte) => byte === 0));
  return formatIpv6(bytes);
}

/** A short string that is equal exactly for equal addresses; faster than text as a map key. */
export function addressKey(bytes: Uint8Array, offset = 0): string {
  const at = (i: number): number => ((bytes[offset + i] ?? 0) << 8) | (bytes[offset + i + 1] ?? 0);
  return String.fromCharCode(at(0), at(2), at(4), at(6), at(8), at(10), at(12), at(14));
}
