// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Requests that make, change and find a network interface.
 *
 * Numbers are those of `linux/rtnetlink.h`, `linux/if_link.h`, `linux/if_addr.h` and
 * `linux/pkt_sched.h`.
 *
 * @module
 */

import {
  ACKNOWLEDGED,
  attribute,
  attributesAfter,
  concat,
  CREATE_NEW,
  malformed,
  type NetlinkAttribute,
  type NetlinkRequest,
  readAttributes,
  textOf,
  uint16,
  uint32,
  viewOf,
  zeroTerminated,
} from "./netlink.ts";
import { AF_INET6 } from "../linux.ts";

const RTM_NEWLINK = 16;
const RTM_DELLINK = 17;
const RTM_GETLINK = 18;
const RTM_NEWADDR = 20;
const RTM_NEWQDISC = 36;
const RTM_NEWTFILTER = 44;

const IFLA_IFNAME = 3;
const IFLA_MTU = 4;
const IFLA_LINKINFO = 18;
const IFLA_IFALIAS = 20;
const IFLA_EXT_MASK = 29;
const IFLA_INFO_KIND = 1;
const IFA_ADDRESS = 1;
const IFA_LOCAL = 2;
const TCA_KIND = 1;
const TCA_OPTIONS = 2;
const TCA_BPF_OPS_LEN = 4;
const TCA_BPF_OPS = 5;
const TCA_BPF_FLAGS = 8;

const AF_UNSPEC = 0;
const IFF_UP = 1;
/** The address counts at once: nobody else on the link could have it. */
const IFA_F_NODAD = 2;
const RT_SCOPE_UNIVERSE = 0;
/** Statistics would only fill the answer. */
const RTEXT_FILTER_SKIP_STATS = 8;
const TC_H_CLSACT = 0xffff_fff1;
const TC_HANDLE_CLSACT = 0xffff_0000;
const TC_PARENT_INGRESS = 0xffff_fff2;
const TC_PRIORITY = 1;
/** All protocols, as the network writes the number. */
const ETH_P_ALL = 0x0300;
/** What the program returns is the verdict. */
const TCA_BPF_FLAG_ACT_DIRECT = 1;
/** Of one instruction of classic BPF. */
const INSTRUCTION_SIZE = 8;

/** `struct ifinfomsg`. */
const LINK_HEADER_SIZE = 16;

/** What is known of an interface. */
export interface LinkDescription {
  readonly index: number;
  readonly name: string;
  /** "wireguard", "tun" …; empty for hardware. */
  readonly kind: string;
  readonly alias: string;
  readonly isUp: boolean;
  readonly mtu: number;
}

/** Makes an interface; it fails when the name is taken. */
export function createLink(name: string, kind: string): NetlinkRequest {
  return {
    type: RTM_NEWLINK,
    flags: ACKNOWLEDGED | CREATE_NEW,
    payload: concat(
      linkHeader(0),
      attribute(IFLA_IFNAME, zeroTerminated(name)),
      attribute(IFLA_LINKINFO, attribute(IFLA_INFO_KIND, new TextEncoder().encode(kind))),
    ),
  };
}

/** Gives an interface a text that administrators see. */
export function setAlias(index: number, alias: string): NetlinkRequest {
  return {
    type: RTM_NEWLINK,
    flags: ACKNOWLEDGED,
    payload: concat(linkHeader(index), attribute(IFLA_IFALIAS, new TextEncoder().encode(alias))),
  };
}

/** Brings an interface up. */
export function bringUp(index: number, mtu: number): NetlinkRequest {
  return {
    type: RTM_NEWLINK,
    flags: ACKNOWLEDGED,
    payload: concat(linkHeader(index, IFF_UP), attribute(IFLA_MTU, uint32(mtu))),
  };
}

/** Removes an interface with all that hangs on it. */
export function deleteLink(index: number): NetlinkRequest {
  return { type: RTM_DELLINK, flags: ACKNOWLEDGED, payload: linkHeader(index) };
}

/** Asks for one interface. */
export function findLink(name: string): NetlinkRequest {
  return {
    type: RTM_GETLINK,
    flags: ACKNOWLEDGED,
    payload: concat(
      linkHeader(0),
      attribute(IFLA_EXT_MASK, uint32(RTEXT_FILTER_SKIP_STATS)),
      attribute(IFLA_IFNAME, zeroTerminated(name)),
    ),
  };
}

/** Gives an interface an IPv6 address, 16 bytes, and the route of its prefix. */
export function addAddress(
  index: number,
  address: Uint8Array,
  prefixLength: number,
): NetlinkRequest {
  return {
    type: RTM_NEWADDR,
    flags: ACKNOWLEDGED | CREATE_NEW,
    payload: concat(
      Uint8Array.of(AF_INET6, prefixLength, IFA_F_NODAD, RT_SCOPE_UNIVERSE),
      uint32(index),
      attribute(IFA_LOCAL, address),
      attribute(IFA_ADDRESS, address),
    ),
  };
}

/** Makes the place on an interface where a filter can stand. */
export function addFilterPlace(index: number): NetlinkRequest {
  return {
    type: RTM_NEWQDISC,
    flags: ACKNOWLEDGED | CREATE_NEW,
    payload: concat(
      trafficHeader(index, TC_HANDLE_CLSACT, TC_H_CLSACT, 0),
      attribute(TCA_KIND, zeroTerminated("clsact")),
    ),
  };
}

/** Lets a program of classic BPF decide about all that comes in on an interface. */
export function addIngressFilter(index: number, program: Uint8Array): NetlinkRequest {
  return {
    type: RTM_NEWTFILTER,
    flags: ACKNOWLEDGED | CREATE_NEW,
    payload: concat(
      trafficHeader(index, 0, TC_PARENT_INGRESS, TC_PRIORITY << 16 | ETH_P_ALL),
      attribute(TCA_KIND, zeroTerminated("bpf")),
      attribute(
        TCA_OPTIONS,
        attribute(TCA_BPF_OPS_LEN, uint16(program.length / INSTRUCTION_SIZE)),
        attribute(TCA_BPF_OPS, program),
        attribute(TCA_BPF_FLAGS, uint32(TCA_BPF_FLAG_ACT_DIRECT)),
      ),
    ),
  };
}

/**
 * Reads the answer to {@linkcode findLink}.
 *
 * @throws CodedError `internal` when it is malformed.
 */
export function readLink(payload: Uint8Array): LinkDescription {
  const attributes = attributesAfter(LINK_HEADER_SIZE, payload);
  const view = viewOf(payload);
  const mtu = find(attributes, IFLA_MTU);
  if (mtu !== undefined && mtu.length < 4) throw malformed("link", 0);
  const linkInfo = readAttributes(find(attributes, IFLA_LINKINFO) ?? new Uint8Array());
  return {
    index: view.getInt32(4, true),
    name: textAt(attributes, IFLA_IFNAME),
    kind: textAt(linkInfo, IFLA_INFO_KIND),
    alias: textAt(attributes, IFLA_IFALIAS),
    isUp: (view.getUint32(8, true) & IFF_UP) !== 0,
    mtu: mtu === undefined ? 0 : viewOf(mtu).getUint32(0, true),
  };
}

function find(attributes: readonly NetlinkAttribute[], type: number): Uint8Array | undefined {
  return attributes.find((attribute) => attribute.type === type)?.payload;
}

function textAt(attributes: readonly NetlinkAttribute[], type: number): string {
  return textOf(find(attributes, type) ?? new Uint8Array());
}

/** `struct ifinfomsg`; the flags are set, never cleared. */
function linkHeader(index: number, flags = 0): Uint8Array {
  return concat(uint32(AF_UNSPEC), uint32(index), uint32(flags), uint32(flags));
}

/** `struct tcmsg`. */
function trafficHeader(index: number, handle: number, parent: number, about: number): Uint8Array {
  return concat(
    uint32(AF_UNSPEC),
    uint32(index),
    uint32(handle),
    uint32(parent),
    uint32(about),
  );
}
