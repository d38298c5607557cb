// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Endpoints as a UDP socket of both families has them: `struct sockaddr_in6`, IPv4 mapped.
 *
 * @module
 */

import { addressKey, formatIpv6, parseIpv4, parseIpv6 } from "./addresses.ts";
import type { UdpEndpoint } from "./udp.ts";
import { AF_INET6 } from "./linux.ts";

/** Size of the structure. */
export const SOCKET_ADDRESS_SIZE = 28;

const PORT_OFFSET = 2;
const ADDRESS_OFFSET = 8;
/** Ten bytes of zeros and two of ones go before a mapped address. */
const MAPPED_SIZE = 12;

/** The structure of an endpoint; `undefined` when its host is no address. */
export function socketAddress({ hostname, port }: UdpEndpoint): Uint8Array | undefined {
  const bytes = new Uint8Array(SOCKET_ADDRESS_SIZE);
  new DataView(bytes.buffer).setUint16(0, AF_INET6, true);
  bytes[PORT_OFFSET] = port >> 8;
  bytes[PORT_OFFSET + 1] = port & 0xff;
  const ipv4 = parseIpv4(hostname);
  const address = ipv4 ?? parseIpv6(hostname);
  if (address === undefined) return undefined;
  if (ipv4 !== undefined) bytes.fill(0xff, ADDRESS_OFFSET + 10, ADDRESS_OFFSET + MAPPED_SIZE);
  bytes.set(address, ADDRESS_OFFSET + (ipv4 === undefined ? 0 : MAPPED_SIZE));
  return bytes;
}

/** The port of a structure at `offset`. */
export function portAt(bytes: Uint8Array, offset: number): number {
  return ((bytes[offset + PORT_OFFSET] ?? 0) << 8) | (bytes[offset + PORT_OFFSET + 1] ?? 0);
}

/** The endpoint that a structure at `offset` holds, an IPv4 host under its own address. */
export function endpointAt(bytes: Uint8Array, offset: number): UdpEndpoint {
  const address = bytes.subarray(offset + ADDRESS_OFFSET, offset + ADDRESS_OFFSET + 16);
  const isMapped = address.subarray(0, 10).every((byte) => byte === 0) &&
    address[10] === 0xff && address[11] === 0xff;
  const hostname = isMapped ? address.subarray(MAPPED_SIZE).join(".") : formatIpv6(address);
  return { hostname, port: portAt(bytes, offset) };
}

/** Endpoints that are remembered; all are forgotten beyond this, and read again. */
const ENDPOINTS_LIMIT = 20_000;

/** Reads endpoints; the same peer gives the same object, so that most need not be read at all. */
export function createEndpointReader(): (bytes: Uint8Array, offset: number) => UdpEndpoint {
  const known = new Map<string, UdpEndpoint>();
  return (bytes, offset) => {
    const key = addressKey(bytes, offset + ADDRESS_OFFSET) +
      String.fromCharCode(portAt(bytes, offset));
    let endpoint = known.get(key);
    if (endpoint === undefined) {
      if (known.size >= ENDPOINTS_LIMIT) known.clear();
      endpoint = endpointAt(bytes, offset);
      known.set(key, endpoint);
    }
    return endpoint;
  };
}
