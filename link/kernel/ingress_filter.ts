// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The filter that keeps machines apart, and away from what else the host serves: what comes out of
 * the tunnel goes to one address or nowhere, and opens connections to the server's ports only.
 *
 * @module
 */

import type { PortRange } from "../../base/port_range.ts";
import { FLAGS_OFFSET, PORT_OFFSET } from "../inner_filter.ts";
import { DESTINATION_OFFSET, PROTOCOL_ICMPV6, PROTOCOL_TCP } from "../net/ipv6.ts";
import { ACK, SYN } from "../net/tcp_segment.ts";
import { concat, uint16, uint32, viewOf } from "./netlink.ts";

// Instructions of classic BPF, `linux/bpf_common.h`.
const LOAD_BYTE = 0x30;
const LOAD_HALF = 0x28;
const LOAD_WORD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_GREATER = 0x25;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
/** Offsets from the network header, and of the kernel's own idea of the protocol. */
const NETWORK_HEADER = 0xfff0_0000;
const PROTOCOL = 0xffff_f000;
const ETH_P_IPV6 = 0x86dd;
/** Where an IPv6 header says what follows it. */
const NEXT_HEADER_OFFSET = 6;
// Verdicts, `linux/pkt_cls.h`.
const ACCEPT = 0;
const DROP = 2;

/** One instruction; a jump names where it goes when its test holds or fails, else it goes on. */
interface Step {
  readonly code: number;
  readonly value: number;
  readonly ifTrue?: Way;
  readonly ifFalse?: Way;
}

/** Where a jump goes; `skip` leaves out the next instruction. */
type Way = "accept" | "drop" | "skip";

/**
 * Assembles it.
 *
 * The kernel's routing would take a packet to every address of the host, and to other machines
 * where the host forwards: IPv6 does so for all interfaces or none, whatever one of them is set to.
 *
 * @param address The only destination that passes, 16 bytes.
 * @param ports Where machines may open connections, at most 50 ranges; everywhere when absent. See
 *   `createInnerFilter`.
 */
export function onlyTo(address: Uint8Array, ports?: readonly PortRange[]): Uint8Array {
  const view = viewOf(address);
  const steps: Step[] = [
    { code: LOAD_HALF, value: PROTOCOL },
    { code: JUMP_IF_EQUAL, value: ETH_P_IPV6, ifFalse: "drop" },
    ...[0, 4, 8, 12].flatMap((at): Step[] => [
      { code: LOAD_WORD, value: NETWORK_HEADER + DESTINATION_OFFSET + at },
      { code: JUMP_IF_EQUAL, value: view.getUint32(at), ifFalse: "drop" },
    ]),
    ...(ports === undefined ? [] : opensOnly(ports)),
  ];
  const end = steps.length;
  // A jump counts from the next instruction.
  const way = (from: number, to: Way | undefined): number => {
    if (to === undefined) return 0;
    return to === "skip" ? 1 : end + (to === "drop" ? 1 : 0) - from - 1;
  };
  return concat(
    ...steps.map(({ code, value, ifTrue, ifFalse }, i) =>
      instruction(code, value, way(i, ifTrue), way(i, ifFalse))
    ),
    instruction(RETURN, ACCEPT),
    instruction(RETURN, DROP),
  );
}

function opensOnly(ports: readonly PortRange[]): Step[] {
  return [
    { code: LOAD_BYTE, value: NETWORK_HEADER + NEXT_HEADER_OFFSET },
    { code: JUMP_IF_EQUAL, value: PROTOCOL_ICMPV6, ifTrue: "accept" },
    { code: JUMP_IF_EQUAL, value: PROTOCOL_TCP, ifFalse: "drop" },
    // A load behind the end of a packet accepts it; TCP itself has no use for one without flags.
    { code: LOAD_BYTE, value: NETWORK_HEADER + FLAGS_OFFSET },
    { code: AND, value: SYN | ACK },
    { code: JUMP_IF_EQUAL, value: SYN, ifFalse: "accept" },
    { code: LOAD_HALF, value: NETWORK_HEADER + PORT_OFFSET },
    ...ports.flatMap(({ first, last }): Step[] => [
      { code: JUMP_IF_AT_LEAST, value: first, ifFalse: "skip" },
      { code: JUMP_IF_GREATER, value: last, ifFalse: "accept" },
    ]),
    // No value of 16 bits is that large.
    { code: JUMP_IF_EQUAL, value: 0x1_0000, ifFalse: "drop" },
  ];
}

/** `struct sock_filter`: code, jumps if true and if false, value. */
function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Uint8Array {
  return concat(uint16(code), Uint8Array.of(ifTrue, ifFalse), uint32(value));
}
