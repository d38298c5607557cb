// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Endpoints as the kernel writes them: `struct sockaddr_in` and `struct sockaddr_in6`.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { formatIpv6, parseIpv4, parseIpv6 } from "../addresses.ts";
import { formatEndpoint, type UdpEndpoint } from "../udp.ts";
import { viewOf } from "./netlink.ts";
import { AF_INET6 } from "../linux.ts";

const AF_INET = 2;
const IPV4_SIZE = 16;
const IPV6_SIZE = 28;

/**
 * Writes an endpoint.
 *
 * @throws CodedError `invalidArgument` when its host is no address.
 */
export function encodeSocketAddress(endpoint: UdpEndpoint): Uint8Array {
  const ipv4 = parseIpv4(endpoint.hostname);
  const address = ipv4 ?? parseIpv6(endpoint.hostname);
  if (address === undefined) {
    const text = formatEndpoint(endpoint);
    throw new CodedError("invalidArgument", `Cannot use endpoint "${text}": it has no address`);
  }
  const bytes = new Uint8Array(ipv4 === undefined ? IPV6_SIZE : IPV4_SIZE);
  const view = viewOf(bytes);
  view.setUint16(0, ipv4 === undefined ? AF_INET6 : AF_INET, true);
  view.setUint16(2, endpoint.port);
  bytes.set(address, ipv4 === undefined ? 8 : 4);
  return bytes;
}

/** Reads an endpoint; `undefined` for another family, which WireGuard does not have. */
export function readSocketAddress(bytes: Uint8Array): UdpEndpoint | undefined {
  const view = viewOf(bytes);
  const family = bytes.length < 2 ? 0 : view.getUint16(0, true);
  if (family === AF_INET && bytes.length >= IPV4_SIZE) {
    return { hostname: bytes.subarray(4, 8).join("."), port: view.getUint16(2) };
  }
  if (family === AF_INET6 && bytes.length >= IPV6_SIZE) {
    return { hostname: formatIpv6(bytes.subarray(8, 24)), port: view.getUint16(2) };
  }
  return undefined;
}
