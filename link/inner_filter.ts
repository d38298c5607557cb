// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What of a machine's packets reaches the host's own sockets, where TCP inside the tunnel is the
 * kernel's.
 *
 * The host may serve other things on all its addresses, and machines have no business there: they
 * open connections to the server's ports, and answer what the server opens.
 *
 * @module
 */

import type { PortRange } from "../base/port_range.ts";
import { IPV6_HEADER_SIZE, PROTOCOL_ICMPV6, PROTOCOL_TCP } from "./net/ipv6.ts";
import { ACK, SYN, TCP_HEADER_SIZE } from "./net/tcp_segment.ts";

/** Where a segment without extension headers in front has its port and its flags. */
export const PORT_OFFSET = IPV6_HEADER_SIZE + 2;
export const FLAGS_OFFSET = IPV6_HEADER_SIZE + 13;

/**
 * Makes the filter. It keeps no state: a segment that opens nothing can do nothing by itself.
 *
 * @param ports Where machines may open connections.
 * @returns Whether an IPv6 packet to our own address may go on.
 */
export function createInnerFilter(ports: readonly PortRange[]): (packet: Uint8Array) => boolean {
  return (packet) => {
    if (packet[6] === PROTOCOL_ICMPV6) return true;
    if (packet[6] !== PROTOCOL_TCP || packet.length < IPV6_HEADER_SIZE + TCP_HEADER_SIZE) {
      return false;
    }
    if (((packet[FLAGS_OFFSET] ?? 0) & (SYN | ACK)) !== SYN) return true;
    const port = ((packet[PORT_OFFSET] ?? 0) << 8) | (packet[PORT_OFFSET + 1] ?? 0);
    return ports.some(({ first, last }) => port >= first && port <= last);
  };
}
