// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Answers pings inside the tunnel.
 *
 * @module
 */

import {
  checksum,
  DESTINATION_OFFSET,
  IPV6_HEADER_SIZE,
  PROTOCOL_ICMPV6,
  SOURCE_OFFSET,
  writeIpv6Header,
} from "./ipv6.ts";

const ECHO_REQUEST = 128;
const ECHO_REPLY = 129;
const ECHO_HEADER_SIZE = 8;

/** The reply to an echo request, or `undefined` for any other packet. */
export function echoReply(packet: Uint8Array): Uint8Array | undefined {
  if (packet.length < IPV6_HEADER_SIZE + ECHO_HEADER_SIZE) return undefined;
  if (packet[6] !== PROTOCOL_ICMPV6 || packet[IPV6_HEADER_SIZE] !== ECHO_REQUEST) return undefined;
  if (checksum(packet) !== 0) return undefined;
  const reply = Uint8Array.from(packet);
  writeIpv6Header(
    reply,
    PROTOCOL_ICMPV6,
    packet.subarray(DESTINATION_OFFSET, DESTINATION_OFFSET + 16),
    packet.subarray(SOURCE_OFFSET, SOURCE_OFFSET + 16),
  );
  reply[IPV6_HEADER_SIZE] = ECHO_REPLY;
  reply[IPV6_HEADER_SIZE + 2] = 0;
  reply[IPV6_HEADER_SIZE + 3] = 0;
  const sum = checksum(reply);
  reply[IPV6_HEADER_SIZE + 2] = sum >> 8;
  reply[IPV6_HEADER_SIZE + 3] = sum & 0xff;
  return reply;
}
