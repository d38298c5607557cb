// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Packets of a machine, for tests of what filters them.
 *
 * @module
 */

import { ipv6Bytes, SERVER_ADDRESS } from "./addresses.ts";
import { setUint16 } from "./net/bytes.ts";
import { PROTOCOL_TCP, writeIpv6Header } from "./net/ipv6.ts";

const MACHINE = ipv6Bytes("fdae:41e4:649b:9303::5");

/** What is special about a packet. */
export interface InnerPacketOptions {
  /** The next header; TCP when absent. */
  readonly protocol?: number;
  /** The destination; the server when absent. */
  readonly destination?: string;
  readonly port?: number;
  /** Of the TCP header. */
  readonly flags?: number;
}

/** Builds a packet of 60 bytes: IPv6 header, and a TCP header without checksum. */
export function innerPacket(options: InnerPacketOptions): Uint8Array {
  const { protocol = PROTOCOL_TCP, destination = SERVER_ADDRESS, port = 0, flags = 0 } = options;
  const packet = new Uint8Array(60);
  writeIpv6Header(packet, protocol, MACHINE, ipv6Bytes(destination));
  setUint16(packet, 42, port);
  packet[52] = 0x50;
  packet[53] = flags;
  return packet;
}
