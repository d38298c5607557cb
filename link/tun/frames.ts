// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Frames of a TUN interface with offloads: a `struct virtio_net_hdr`, then a packet that may be
 * larger than the MTU. It is cut on the way out of the kernel and put together on the way in, so
 * that the kernel's TCP and the calls for it are paid once for some fifty packets.
 *
 * @module
 */

import { setUint16, setUint32, uint16, uint32 } from "../net/bytes.ts";
import { IPV6_HEADER_SIZE, onesSum, PROTOCOL_TCP, SOURCE_OFFSET } from "../net/ipv6.ts";
import { ACK, FIN, PSH, TCP_HEADER_SIZE } from "../net/tcp_segment.ts";

/** Size of the header before each packet. */
export const FRAME_HEADER_SIZE = 10;
/** The largest packet. */
export const PACKET_LIMIT = IPV6_HEADER_SIZE + 65_535;

// Fields and values of the header; numbers are in the order of the processor, little-endian.
const FLAGS = 0;
const TYPE = 1;
const HEADER_LENGTH = 2;
const SEGMENT_SIZE = 4;
const CHECKSUM_START = 6;
const CHECKSUM_OFFSET = 8;
const NEEDS_CHECKSUM = 1;
const TYPE_TCP6 = 4;
/** A bit beside the type, for congestion marks. */
const TYPE_ECN = 0x80;

// Offsets in a packet of TCP over IPv6.
const PAYLOAD_LENGTH = 4;
const NEXT_HEADER = 6;
const PORTS = IPV6_HEADER_SIZE;
const SEQ = IPV6_HEADER_SIZE + 4;
const ACKNOWLEDGED = IPV6_HEADER_SIZE + 8;
const DATA_OFFSET = IPV6_HEADER_SIZE + 12;
const TCP_FLAGS = IPV6_HEADER_SIZE + 13;
const WINDOW = IPV6_HEADER_SIZE + 14;
const TCP_CHECKSUM = IPV6_HEADER_SIZE + 16;
const OPTIONS = IPV6_HEADER_SIZE + TCP_HEADER_SIZE;
/** Congestion window reduced: said once, in the first segment. */
const CWR = 0x80;

function uint16Little(bytes: Uint8Array, offset: number): number {
  return (bytes[offset] ?? 0) | ((bytes[offset + 1] ?? 0) << 8);
}

function setUint16Little(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value & 0xff;
  bytes[offset + 1] = value >> 8;
}

/** Where the payload of a packet of TCP begins. */
function payloadOffset(packet: Uint8Array): number {
  return IPV6_HEADER_SIZE + ((packet[DATA_OFFSET] ?? 0) >> 4) * 4;
}

/** The sum over the pseudo-header of a packet of TCP with so much behind the IPv6 header. */
function pseudoSum(packet: Uint8Array, length: number): number {
  return onesSum(packet, SOURCE_OFFSET, IPV6_HEADER_SIZE, length + PROTOCOL_TCP);
}

/**
 * Hands over the packets of a frame from the kernel, with their checksums. Their memory is the
 * frame's, which is changed by it. A frame that cannot be understood has none.
 *
 * @returns the number of packets
 */
export function cutFrame(frame: Uint8Array, handler: (packet: Uint8Array) => void): number {
  const packet = frame.subarray(FRAME_HEADER_SIZE);
  const type = (frame[TYPE] ?? 0) & ~TYPE_ECN;
  if (type === TYPE_TCP6) return cutSegments(packet, uint16Little(frame, SEGMENT_SIZE), handler);
  if (type !== 0) return 0;
  if ((frame[FLAGS] ?? 0) & NEEDS_CHECKSUM) {
    const start = uint16Little(frame, CHECKSUM_START);
    const at = start + uint16Little(frame, CHECKSUM_OFFSET);
    if (at + 2 > packet.length) return 0;
    // The field holds the sum over the pseudo-header already.
    const sum = ~onesSum(packet, start, packet.length) & 0xffff;
    // For UDP, 0 says that there is none; the same number is written in another way.
    setUint16(packet, at, sum === 0 ? 0xffff : sum);
  }
  handler(packet);
  return 1;
}

function cutSegments(
  packet: Uint8Array,
  size: number,
  handler: (packet: Uint8Array) => void,
): number {
  const headers = payloadOffset(packet);
  const isTcp = (packet[0] ?? 0) >> 4 === 6 && packet[NEXT_HEADER] === PROTOCOL_TCP;
  if (!isTcp || size === 0 || packet.length <= headers || headers < OPTIONS) return 0;
  const seq = uint32(packet, SEQ);
  const flags = packet[TCP_FLAGS] ?? 0;
  let count = 0;
  for (let at = headers; at < packet.length; at += size) {
    const end = Math.min(at + size, packet.length);
    // The headers go before each payload, over the end of the one before, which is dealt with.
    const start = at - headers;
    if (start > 0) packet.copyWithin(start, start - size, start - size + headers);
    const segment = packet.subarray(start, end);
    const length = segment.length - IPV6_HEADER_SIZE;
    setUint16(segment, PAYLOAD_LENGTH, length);
    setUint32(segment, SEQ, (seq + at - headers) >>> 0);
    const isLast = end === packet.length;
    segment[TCP_FLAGS] = flags & ~(isLast ? 0 : FIN | PSH) & ~(start === 0 ? 0 : CWR);
    setUint16(segment, TCP_CHECKSUM, 0);
    const sum = onesSum(segment, IPV6_HEADER_SIZE, segment.length, pseudoSum(segment, length));
    setUint16(segment, TCP_CHECKSUM, ~sum & 0xffff);
    handler(segment);
    count++;
  }
  return count;
}

/** Puts packets together to frames for the kernel. */
export interface FrameBuilder {
  /** Takes a packet, whose memory may be used again; the frame before it may be written. */
  add(packet: Uint8Array): void;
  /** Writes what is left. */
  flush(): void;
}

/**
 * Makes a builder that writes each packet alone, or as part of a large one when it follows the
 * packet before in the same TCP connection. Order is kept.
 *
 * The kernel takes the checksum of a large one on trust. The seal of each part vouches for it: it is
 * what the machine sent.
 *
 * @param write Writes a frame, whose memory is used again; returns whether the kernel took it.
 */
export function createFrameBuilder(write: (frame: Uint8Array) => boolean): FrameBuilder {
  const frame = new Uint8Array(FRAME_HEADER_SIZE + PACKET_LIMIT);
  const head = frame.subarray(FRAME_HEADER_SIZE);
  /** Of the packet in `head`; 0: there is none. */
  let length = 0;
  /** Payload of each of its segments but the last; 0: nothing may follow. */
  let segment = 0;
  let count = 0;
  let nextSeq = 0;

  const flush = (): void => {
    if (length === 0) return;
    frame.fill(0, 0, FRAME_HEADER_SIZE);
    if (count > 1) {
      frame[FLAGS] = NEEDS_CHECKSUM;
      frame[TYPE] = TYPE_TCP6;
      setUint16Little(frame, HEADER_LENGTH, payloadOffset(head));
      setUint16Little(frame, SEGMENT_SIZE, segment);
      setUint16Little(frame, CHECKSUM_START, IPV6_HEADER_SIZE);
      setUint16Little(frame, CHECKSUM_OFFSET, TCP_CHECKSUM - IPV6_HEADER_SIZE);
      setUint16(head, PAYLOAD_LENGTH, length - IPV6_HEADER_SIZE);
      setUint16(head, TCP_CHECKSUM, pseudoSum(head, length - IPV6_HEADER_SIZE));
    }
    const whole = frame.subarray(0, FRAME_HEADER_SIZE + length);
    if (!write(whole) && count > 1) writeApart(whole, write);
    length = segment = count = 0;
  };
  return {
    flush,
    add(packet) {
      const payload = payloadOf(packet);
      const isNext = payload > 0 && payload <= segment && length + payload <= PACKET_LIMIT &&
        uint32(packet, SEQ) === nextSeq && isSameFlow(head, packet);
      if (!isNext) {
        flush();
        head.set(packet);
        length = packet.length;
        count = 1;
        segment = payload;
        nextSeq = (uint32(packet, SEQ) + payload) >>> 0;
      } else {
        head.set(packet.subarray(packet.length - payload), length);
        length += payload;
        count++;
        nextSeq = (nextSeq + payload) >>> 0;
        // The newest word on what the peer has room for.
        setUint16(head, WINDOW, uint16(packet, WINDOW));
      }
      const isPushed = ((packet[TCP_FLAGS] ?? 0) & PSH) !== 0;
      if (isPushed && payload > 0) head[TCP_FLAGS] = ACK | PSH;
      if (payload === 0 || payload < segment || isPushed) flush();
    },
  };
}

/** Writes the packets of a frame each in a frame of its own. */
function writeApart(frame: Uint8Array, write: (frame: Uint8Array) => boolean): void {
  cutFrame(frame, (packet) => {
    // Before each packet there is room for a header: what stood there is dealt with.
    const start = packet.byteOffset - FRAME_HEADER_SIZE - frame.byteOffset;
    frame.fill(0, start, start + FRAME_HEADER_SIZE);
    write(frame.subarray(start, start + FRAME_HEADER_SIZE + packet.length));
  });
}

/** The size of the payload of a packet that others may follow or be put behind; 0 for all others. */
function payloadOf(packet: Uint8Array): number {
  if (packet.length < OPTIONS || packet[NEXT_HEADER] !== PROTOCOL_TCP) return 0;
  if (((packet[TCP_FLAGS] ?? 0) & ~PSH) !== ACK) return 0;
  const headers = payloadOffset(packet);
  if (headers < OPTIONS || uint16(packet, PAYLOAD_LENGTH) + IPV6_HEADER_SIZE !== packet.length) {
    return 0;
  }
  return Math.max(packet.length - headers, 0);
}

/** Whether two packets differ only in length, sequence number, window, checksum and payload. */
function isSameFlow(a: Uint8Array, b: Uint8Array): boolean {
  const end = payloadOffset(a);
  return isEqual(a, b, PORTS, SEQ) && isEqual(a, b, ACKNOWLEDGED, TCP_FLAGS) &&
    isEqual(a, b, OPTIONS, end) && isEqual(a, b, 0, PAYLOAD_LENGTH) &&
    isEqual(a, b, NEXT_HEADER, IPV6_HEADER_SIZE);
}

function isEqual(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (a[i] !== b[i]) return false;
  return true;
}
