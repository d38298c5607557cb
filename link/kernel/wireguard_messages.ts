// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Requests that configure the kernel's WireGuard and read it back.
 *
 * Numbers are those of `linux/wireguard.h`.
 *
 * @module
 */

import type { UdpEndpoint } from "../udp.ts";
import { GENERIC_HEADER_SIZE, genericHeader } from "./genetlink.ts";
import {
  ACKNOWLEDGED,
  attribute,
  attributesAfter,
  concat,
  DUMP,
  malformed,
  NESTED,
  type NetlinkRequest,
  readAttributes,
  uint16,
  uint32,
  viewOf,
} from "./netlink.ts";
import { encodeSocketAddress, readSocketAddress } from "./socket_address.ts";
import { AF_INET6 } from "../linux.ts";

/** The name of the family, and of the kind of interface. */
export const WIREGUARD = "wireguard";

const WG_CMD_GET_DEVICE = 0;
const WG_CMD_SET_DEVICE = 1;
const WGDEVICE_A_IFINDEX = 1;
const WGDEVICE_A_PRIVATE_KEY = 3;
const WGDEVICE_A_PUBLIC_KEY = 4;
const WGDEVICE_A_FLAGS = 5;
const WGDEVICE_A_LISTEN_PORT = 6;
const WGDEVICE_A_PEERS = 8;
const WGDEVICE_F_REPLACE_PEERS = 1;
const WGPEER_A_PUBLIC_KEY = 1;
const WGPEER_A_FLAGS = 3;
const WGPEER_A_ENDPOINT = 4;
const WGPEER_A_KEEPALIVE = 5;
const WGPEER_A_LAST_HANDSHAKE_TIME = 6;
const WGPEER_A_RX_BYTES = 7;
const WGPEER_A_TX_BYTES = 8;
const WGPEER_A_ALLOWEDIPS = 9;
const WGALLOWEDIP_A_FAMILY = 1;
const WGALLOWEDIP_A_IPADDR = 2;
const WGALLOWEDIP_A_CIDR_MASK = 3;
const WGPEER_F_REMOVE_ME = 1;
const WGPEER_F_REPLACE_ALLOWEDIPS = 2;
const WGPEER_F_UPDATE_ONLY = 4;
const HOST_PREFIX = 128;
const KEY_SIZE = 32;
const TIME_SIZE = 16;

/** What a peer shall be; what is absent stays as it is. */
export interface PeerChange {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly endpoint?: UdpEndpoint;
  /** 0 is never. */
  readonly keepaliveSeconds?: number;
  /** The one inner address, 16 bytes. */
  readonly allowedIp?: Uint8Array;
  /** A peer that is not there is not made. */
  readonly isKnown?: boolean;
}

/** What the kernel says of a peer; figures are absent in the second part of a split one. */
export interface PeerReport {
  /** 32 bytes; a view. */
  readonly publicKey: Uint8Array;
  readonly endpoint?: UdpEndpoint;
  /** In ms since the epoch; 0 is never. */
  readonly lastHandshakeMs?: number;
  readonly receivedBytes?: number;
  readonly sentBytes?: number;
}

/** What one message says of a device. */
export interface DeviceReport {
  /** 32 bytes; a view. Absent as long as the device has no key. */
  readonly publicKey?: Uint8Array;
  readonly listenPort?: number;
  readonly peers: readonly PeerReport[];
}

/** Gives a device its key, 32 bytes, and its port; port 0 picks a free one. */
export function setDevice(
  family: number,
  index: number,
  { privateKey, port }: { readonly privateKey: Uint8Array; readonly port: number },
): NetlinkRequest {
  return change(family, index, [
    attribute(WGDEVICE_A_PRIVATE_KEY, privateKey),
    attribute(WGDEVICE_A_LISTEN_PORT, uint16(port)),
  ]);
}

/** Adds or changes a peer. */
export function setPeer(family: number, index: number, peer: PeerChange): NetlinkRequest {
  const { publicKey, endpoint, keepaliveSeconds, allowedIp, isKnown } = peer;
  const flags = (allowedIp === undefined ? 0 : WGPEER_F_REPLACE_ALLOWEDIPS) |
    (isKnown ? WGPEER_F_UPDATE_ONLY : 0);
  const attributes = [attribute(WGPEER_A_PUBLIC_KEY, publicKey)];
  if (endpoint !== undefined) {
    attributes.push(attribute(WGPEER_A_ENDPOINT, encodeSocketAddress(endpoint)));
  }
  if (keepaliveSeconds !== undefined) {
    attributes.push(attribute(WGPEER_A_KEEPALIVE, uint16(keepaliveSeconds)));
  }
  if (flags !== 0) attributes.push(attribute(WGPEER_A_FLAGS, uint32(flags)));
  if (allowedIp !== undefined) {
    attributes.push(attribute(
      WGPEER_A_ALLOWEDIPS | NESTED,
      attribute(
        NESTED,
        attribute(WGALLOWEDIP_A_FAMILY, uint16(AF_INET6)),
        attribute(WGALLOWEDIP_A_IPADDR, allowedIp),
        attribute(WGALLOWEDIP_A_CIDR_MASK, Uint8Array.of(HOST_PREFIX)),
      ),
    ));
  }
  return changePeer(family, index, attributes);
}

/** Removes a peer; nothing happens when there is none. */
export function removePeer(family: number, index: number, publicKey: Uint8Array): NetlinkRequest {
  return changePeer(family, index, [
    attribute(WGPEER_A_PUBLIC_KEY, publicKey),
    attribute(WGPEER_A_FLAGS, uint32(WGPEER_F_REMOVE_ME)),
  ]);
}

/** Removes all peers. */
export function removePeers(family: number, index: number): NetlinkRequest {
  return change(family, index, [attribute(WGDEVICE_A_FLAGS, uint32(WGDEVICE_F_REPLACE_PEERS))]);
}

/** Asks for a device with all its peers; the answer is a list of messages. */
export function getDevice(family: number, index: number): NetlinkRequest {
  return {
    type: family,
    flags: ACKNOWLEDGED | DUMP,
    payload: concat(
      genericHeader(WG_CMD_GET_DEVICE),
      attribute(WGDEVICE_A_IFINDEX, uint32(index)),
    ),
  };
}

function change(family: number, index: number, attributes: readonly Uint8Array[]): NetlinkRequest {
  return {
    type: family,
    flags: ACKNOWLEDGED,
    payload: concat(
      genericHeader(WG_CMD_SET_DEVICE),
      // The number, not the name: another interface of that name is none of ours.
      attribute(WGDEVICE_A_IFINDEX, uint32(index)),
      ...attributes,
    ),
  };
}

function changePeer(
  family: number,
  index: number,
  attributes: readonly Uint8Array[],
): NetlinkRequest {
  const peer = attribute(NESTED, ...attributes);
  return change(family, index, [attribute(WGDEVICE_A_PEERS | NESTED, peer)]);
}

/**
 * Reads one message of the answer to {@linkcode getDevice}.
 *
 * @throws CodedError `internal` when it is malformed.
 */
export function readDevice(payload: Uint8Array): DeviceReport {
  const peers: PeerReport[] = [];
  let publicKey: Uint8Array | undefined;
  let listenPort: number | undefined;
  for (const { type, payload: value } of attributesAfter(GENERIC_HEADER_SIZE, payload)) {
    if (type === WGDEVICE_A_PUBLIC_KEY) publicKey = sized(value, KEY_SIZE);
    else if (type === WGDEVICE_A_LISTEN_PORT) {
      listenPort = viewOf(sized(value, 2)).getUint16(0, true);
    } else if (type === WGDEVICE_A_PEERS) {
      for (const peer of readAttributes(value)) peers.push(readPeer(peer.payload));
    }
  }
  return {
    peers,
    ...(publicKey === undefined ? {} : { publicKey }),
    ...(listenPort === undefined ? {} : { listenPort }),
  };
}

function readPeer(bytes: Uint8Array): PeerReport {
  let report: PeerReport | undefined;
  let endpoint: UdpEndpoint | undefined;
  const figures: { lastHandshakeMs?: number; receivedBytes?: number; sentBytes?: number } = {};
  for (const { type, payload } of readAttributes(bytes)) {
    switch (type) {
      case WGPEER_A_PUBLIC_KEY:
        report = { publicKey: sized(payload, KEY_SIZE) };
        break;
      case WGPEER_A_ENDPOINT:
        endpoint = readSocketAddress(payload);
        break;
      case WGPEER_A_LAST_HANDSHAKE_TIME:
        figures.lastHandshakeMs = readTime(sized(payload, TIME_SIZE));
        break;
      case WGPEER_A_RX_BYTES:
        figures.receivedBytes = readCount(payload);
        break;
      case WGPEER_A_TX_BYTES:
        figures.sentBytes = readCount(payload);
        break;
    }
  }
  if (report === undefined) throw malformed("peer", 0);
  return { ...report, ...figures, ...(endpoint === undefined ? {} : { endpoint }) };
}

/** `struct __kernel_timespec`: seconds and nanoseconds. */
function readTime(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  const [seconds, nanoseconds] = [view.getBigInt64(0, true), view.getBigInt64(8, true)];
  return Number(seconds) * 1000 + Math.round(Number(nanoseconds) / 1e6);
}

function readCount(bytes: Uint8Array): number {
  return Number(viewOf(sized(bytes, 8)).getBigUint64(0, true));
}

function sized(bytes: Uint8Array, size: number): Uint8Array {
  if (bytes.length !== size) throw malformed(`value of ${size} bytes`, bytes.length);
  return bytes;
}
