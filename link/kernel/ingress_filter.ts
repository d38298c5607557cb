// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The filter that keeps machines apart: what comes out of the tunnel goes to one address or nowhere.
 *
 * @module
 */

import { concat, uint16, uint32, viewOf } from "./netlink.ts";

// Instructions of classic BPF, `linux/bpf_common.h`.
const LOAD_HALF = 0x28;
const LOAD_WORD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const RETURN = 0x06;
/** Offsets from the network header, and of the kernel's own idea of the protocol. */
const NETWORK_HEADER = 0xfff0_0000;
const PROTOCOL = 0xffff_f000;
const ETH_P_IPV6 = 0x86dd;
/** Where an IPv6 header has the destination. */
const DESTINATION_OFFSET = 24;
// Verdicts, `linux/pkt_cls.h`.
const ACCEPT = 0;
const DROP = 2;

/**
 * Assembles it.
 *
 * The kernel's routing would take a packet to every address of the host, and to other machines
 * where the host forwards: IPv6 does so for all interfaces or none, whatever one of them is set to.
 *
 * @param address The only destination that passes, 16 bytes.
 */
export function onlyTo(address: Uint8Array): Uint8Array {
  const view = viewOf(address);
  const tests = [
    { load: LOAD_HALF, offset: PROTOCOL, value: ETH_P_IPV6 },
    ...[0, 4, 8, 12].map((at) => ({
      load: LOAD_WORD,
      offset: NETWORK_HEADER + DESTINATION_OFFSET + at,
      value: view.getUint32(at),
    })),
  ];
  const instructions = tests.flatMap(({ load, offset, value }, i) => {
    // A jump counts from the next instruction; the last one of all drops.
    const toDrop = 2 * (tests.length - i) - 1;
    return [instruction(load, 0, offset), instruction(JUMP_IF_EQUAL, toDrop, value)];
  });
  return concat(...instructions, instruction(RETURN, 0, ACCEPT), instruction(RETURN, 0, DROP));
}

/** `struct sock_filter`: code, jumps if true and if false, value. */
function instruction(code: number, ifFalse: number, value: number): Uint8Array {
  return concat(uint16(code), Uint8Array.of(0, ifFalse), uint32(value));
}
