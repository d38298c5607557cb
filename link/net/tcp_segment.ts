// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * TCP segments on the wire: header, options and sequence numbers (RFC 9293, 7323, 2018).
 *
 * @module
 */

import { uint16, uint32 } from "./bytes.ts";
import { IPV6_HEADER_SIZE } from "./ipv6.ts";

export const FIN = 0x01;
export const SYN = 0x02;
export const RST = 0x04;
export const PSH = 0x08;
export const ACK = 0x10;

/** Size of the header without options. */
export const TCP_HEADER_SIZE = 20;
/** Timestamps with their padding, in every segment of a connection that uses them. */
export const TIMESTAMPS_SIZE = 12;

const OPTION_END = 0;
const OPTION_NOP = 1;
const OPTION_MSS = 2;
const OPTION_WINDOW_SCALE = 3;
const OPTION_SACK_PERMITTED = 4;
const OPTION_SACK = 5;
const OPTION_TIMESTAMPS = 8;

/** Half-open range of sequence numbers. */
export interface SackBlock {
  readonly start: number;
  readonly end: number;
}

/** Options of a segment. */
export interface TcpOptions {
  mss?: number;
  windowScale?: number;
  isSackPermitted?: boolean;
  timestamps?: { readonly value: number; readonly echo: number };
  sacks?: readonly SackBlock[];
}

/** A received segment. */
export interface TcpSegment {
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly seq: number;
  readonly ack: number;
  readonly flags: number;
  /** As on the wire, not scaled. */
  readonly window: number;
  readonly options: TcpOptions;
  readonly payload: Uint8Array;
}

/** A segment to be sent. */
export interface TcpHeader {
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly seq: number;
  readonly ack: number;
  readonly flags: number;
  readonly window: number;
  readonly options: TcpOptions;
}

/** The distance from `b` to `a`, negative when `a` lies before. */
export function seqDiff(a: number, b: number): number {
  return (a - b) | 0;
}

/** A sequence number moved on. */
export function seqAdd(seq: number, count: number): number {
  return (seq + count) >>> 0;
}

/** Reads the segment in an IPv6 packet; `undefined` when it is malformed. */
export function parseTcp(packet: Uint8Array): TcpSegment | undefined {
  const at = IPV6_HEADER_SIZE;
  if (packet.length < at + TCP_HEADER_SIZE) return undefined;
  const headerSize = ((packet[at + 12] ?? 0) >> 4) * 4;
  if (headerSize < TCP_HEADER_SIZE || at + headerSize > packet.length) return undefined;
  const options = parseOptions(packet, at + TCP_HEADER_SIZE, at + headerSize);
  if (options === undefined) return undefined;
  return {
    sourcePort: uint16(packet, at),
    destinationPort: uint16(packet, at + 2),
    seq: uint32(packet, at + 4),
    ack: uint32(packet, at + 8),
    flags: packet[at + 13] ?? 0,
    window: uint16(packet, at + 14),
    options,
    payload: packet.subarray(at + headerSize),
  };
}

function parseOptions(bytes: Uint8Array, from: number, end: number): TcpOptions | undefined {
  const options: TcpOptions = {};
  for (let at = from; at < end;) {
    const kind = bytes[at];
    if (kind === OPTION_END) break;
    if (kind === OPTION_NOP) {
      at++;
      continue;
    }
    const length = bytes[at + 1] ?? 0;
    if (length < 2 || at + length > end) return undefined;
    readOption(options, kind, bytes, at, length);
    at += length;
  }
  return options;
}

function readOption(
  options: TcpOptions,
  kind: number | undefined,
  bytes: Uint8Array,
  at: number,
  length: number,
): void {
  if (kind === OPTION_TIMESTAMPS && length === 10) {
    options.timestamps = { value: uint32(bytes, at + 2), echo: uint32(bytes, at + 6) };
  } else if (kind === OPTION_SACK && (length - 2) % 8 === 0) {
    const sacks: SackBlock[] = [];
    for (let i = at + 2; i < at + length; i += 8) {
      sacks.push({ start: uint32(bytes, i), end: uint32(bytes, i + 4) });
    }
    options.sacks = sacks;
  } else if (kind === OPTION_MSS && length === 4) {
    options.mss = uint16(bytes, at + 2);
  } else if (kind === OPTION_WINDOW_SCALE && length === 3) {
    // Larger values are read as the largest that is defined.
    options.windowScale = Math.min(bytes[at + 2] ?? 0, 14);
  } else if (kind === OPTION_SACK_PERMITTED && length === 2) {
    options.isSackPermitted = true;
  }
}

/** The size of the options as {@linkcode writeTcpHeader} writes them. */
export function optionsSize(options: TcpOptions): number {
  return (options.mss === undefined ? 0 : 4) + (options.windowScale === undefined ? 0 : 4) +
    (options.isSackPermitted ? 4 : 0) + (options.timestamps === undefined ? 0 : TIMESTAMPS_SIZE) +
    (options.sacks?.length ? 4 + 8 * options.sacks.length : 0);
}

/** Writes the header into an IPv6 packet, with a checksum of zero; returns where the payload goes. */
export function writeTcpHeader(packet: Uint8Array, header: TcpHeader): number {
  const view = new DataView(packet.buffer, packet.byteOffset + IPV6_HEADER_SIZE);
  const { options } = header;
  view.setUint16(0, header.sourcePort);
  view.setUint16(2, header.destinationPort);
  view.setUint32(4, header.seq);
  view.setUint32(8, header.ack);
  view.setUint8(12, ((TCP_HEADER_SIZE + optionsSize(options)) / 4) << 4);
  view.setUint8(13, header.flags);
  view.setUint16(14, header.window);
  let at = TCP_HEADER_SIZE;
  if (options.mss !== undefined) {
    view.setUint32(at, (OPTION_MSS << 24) | (4 << 16) | options.mss);
    at += 4;
  }
  if (options.windowScale !== undefined) {
    view.setUint32(
      at,
      (OPTION_NOP << 24) | (OPTION_WINDOW_SCALE << 16) | (3 << 8) |
        options.windowScale,
    );
    at += 4;
  }
  if (options.isSackPermitted) {
    view.setUint32(
      at,
      (OPTION_NOP << 24) | (OPTION_NOP << 16) | (OPTION_SACK_PERMITTED << 8) | 2,
    );
    at += 4;
  }
  if (options.timestamps !== undefined) {
    view.setUint32(at, (OPTION_NOP << 24) | (OPTION_NOP << 16) | (OPTION_TIMESTAMPS << 8) | 10);
    view.setUint32(at + 4, options.timestamps.value);
    view.setUint32(at + 8, options.timestamps.echo);
    at += TIMESTAMPS_SIZE;
  }
  if (options.sacks?.length) {
    const length = 2 + 8 * options.sacks.length;
    view.setUint32(at, (OPTION_NOP << 24) | (OPTION_NOP << 16) | (OPTION_SACK << 8) | length);
    at += 4;
    for (const block of options.sacks) {
      view.setUint32(at, block.start);
      view.setUint32(at + 4, block.end);
      at += 8;
    }
  }
  return IPV6_HEADER_SIZE + at;
}
