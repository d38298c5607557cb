// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Datagrams on their way to the kernel, many in one call.
 *
 * Datagrams of one size to one peer that follow each other become one message, which the kernel
 * cuts (UDP_SEGMENT, since Linux 4.18): it then looks up the route once for all of them.
 *
 * @module
 */

import { errnoOf, type Libc } from "./libc.ts";
import { EAGAIN, EINTR, EINVAL, EIO, MSG_DONTWAIT } from "./linux.ts";
import { SOCKET_ADDRESS_SIZE, socketAddress } from "./udp_address.ts";
import type { UdpEndpoint } from "./udp.ts";

/** Messages of one call. */
const MESSAGES = 64;
/** What waits at most while the kernel has no room: some 800 full datagrams. */
const ARENA_SIZE = 1024 * 1024;
/** The kernel takes no more segments in one message (UDP_MAX_SEGMENTS of Linux before 6.9). */
const SEGMENTS_LIMIT = 64;
/** The largest message that the kernel cuts: what fits one IP packet, with room for headers. */
const RUN_LIMIT = 65_000;

// `struct mmsghdr`, `struct iovec` and a control message of 16 bits, all of 64-bit Linux.
const HEADER_SIZE = 64;
const IOVEC_SIZE = 16;
const ADDRESS_SIZE = 32;
const CONTROL_SIZE = 24;
const CONTROL_LENGTH = 18n;

const SOL_UDP = 17;
const UDP_SEGMENT = 103;

/** Datagrams that wait. */
export interface SendQueue {
  /** Adds a datagram, or drops it when there is no room; its memory may be used again. */
  add(datagram: Uint8Array, endpoint: UdpEndpoint): void;
  /** Sends all that wait; returns false when the kernel has no room for the rest just now. */
  flush(): boolean;
}

/** Datagrams of one message. */
interface Run {
  readonly endpoint: UdpEndpoint;
  readonly offset: number;
  length: number;
  readonly segment: number;
  count: number;
  /** Nothing may follow a shorter one. */
  isComplete: boolean;
}

/** Makes a queue for a socket. Pointers are made here and not again. */
export function createSendQueue(libc: Libc, fd: number): SendQueue {
  const memory = createMessages();
  const addresses = new WeakMap<UdpEndpoint, Uint8Array>();
  const { data } = memory;
  const runs: Run[] = [];
  let used = 0;
  /** The first run that is not sent. */
  let first = 0;
  let canSegment = true;

  const reset = (): void => {
    runs.length = used = first = 0;
  };
  const addressOf = (endpoint: UdpEndpoint): Uint8Array | undefined => {
    let address = addresses.get(endpoint);
    if (address === undefined) {
      address = socketAddress(endpoint);
      if (address !== undefined) addresses.set(endpoint, address);
    }
    return address;
  };
  const begin = (datagram: Uint8Array, endpoint: UdpEndpoint): void => {
    const address = addressOf(endpoint);
    if (address === undefined || runs.length >= MESSAGES) return;
    memory.setAddress(runs.length, address);
    const { length } = datagram;
    data.set(datagram, used);
    runs.push({ endpoint, offset: used, length, segment: length, count: 1, isComplete: false });
    used += length;
  };
  /** Sends the datagrams of a run as messages of their own. */
  const sendApart = (run: Run, index: number): void => {
    for (let at = 0; at < run.length; at += run.segment) {
      memory.setMessage(index, run.offset + at, Math.min(run.segment, run.length - at), 0);
      libc.symbols.sendmmsg(fd, memory.headersFrom(index), 1, MSG_DONTWAIT);
    }
  };
  const flush = (): boolean => {
    for (let i = first; i < runs.length; i++) {
      const { offset, length, segment, count } = runs[i] as Run;
      memory.setMessage(i, offset, length, count > 1 ? segment : 0);
    }
    while (first < runs.length) {
      const count = runs.length - first;
      const sent = libc.symbols.sendmmsg(fd, memory.headersFrom(first), count, MSG_DONTWAIT);
      if (sent > 0) {
        first += sent;
        continue;
      }
      const errno = errnoOf(libc);
      if (errno === EAGAIN) return false;
      if (errno === EINTR) continue;
      const run = runs[first] as Run;
      if (run.count > 1 && (errno === EINVAL || errno === EIO)) {
        // An old kernel, or a link that cannot: as it would be without.
        canSegment = false;
        sendApart(run, first);
      }
      // An unreachable peer is no news here; its handshake tells.
      first++;
    }
    reset();
    return true;
  };
  return {
    add(datagram, endpoint) {
      const { length } = datagram;
      const run = runs.at(-1);
      const isFull = used + length > data.length;
      if (
        run !== undefined && canSegment && !isFull && runs.length > first && !run.isComplete &&
        run.endpoint === endpoint && length > 0 && length <= run.segment &&
        run.count < SEGMENTS_LIMIT &&
        run.length + length <= RUN_LIMIT
      ) {
        data.set(datagram, used);
        used += length;
        run.length += length;
        run.count++;
        run.isComplete = length < run.segment;
        return;
      }
      if ((isFull || runs.length >= MESSAGES) && !flush()) return;
      begin(datagram, endpoint);
    },
    flush,
  };
}

/** The structures of all messages and what they point to. */
function createMessages() {
  const size = MESSAGES * (HEADER_SIZE + IOVEC_SIZE + ADDRESS_SIZE + CONTROL_SIZE);
  const memory = new ArrayBuffer(size + ARENA_SIZE);
  const view = new DataView(memory);
  const bytes = new Uint8Array(memory);
  const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
  const iovecs = MESSAGES * HEADER_SIZE;
  const addresses = iovecs + MESSAGES * IOVEC_SIZE;
  const controls = addresses + MESSAGES * ADDRESS_SIZE;
  for (let i = 0; i < MESSAGES; i++) {
    const header = i * HEADER_SIZE;
    view.setBigUint64(header, base + BigInt(addresses + i * ADDRESS_SIZE), true);
    view.setUint32(header + 8, SOCKET_ADDRESS_SIZE, true);
    view.setBigUint64(header + 16, base + BigInt(iovecs + i * IOVEC_SIZE), true);
    view.setBigUint64(header + 24, 1n, true);
    view.setBigUint64(header + 32, base + BigInt(controls + i * CONTROL_SIZE), true);
    const control = controls + i * CONTROL_SIZE;
    view.setBigUint64(control, CONTROL_LENGTH, true);
    view.setInt32(control + 8, SOL_UDP, true);
    view.setInt32(control + 12, UDP_SEGMENT, true);
  }
  return {
    data: bytes.subarray(size),
    setAddress: (index: number, address: Uint8Array): void =>
      bytes.set(address, addresses + index * ADDRESS_SIZE),
    /** `segment` 0: the message is one datagram. */
    setMessage(index: number, offset: number, length: number, segment: number): void {
      view.setBigUint64(iovecs + index * IOVEC_SIZE, base + BigInt(size + offset), true);
      view.setUint32(iovecs + index * IOVEC_SIZE + 8, length, true);
      view.setUint32(index * HEADER_SIZE + 40, segment > 0 ? CONTROL_SIZE : 0, true);
      view.setUint16(controls + index * CONTROL_SIZE + 16, segment, true);
    },
    headersFrom: (index: number): Uint8Array<ArrayBuffer> => bytes.subarray(index * HEADER_SIZE),
  };
}
