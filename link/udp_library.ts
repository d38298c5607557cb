// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A UDP socket through the C library: many datagrams a call, and a receive buffer for bursts.
 *
 * The runtime's own socket moves one datagram a call and has no way to set its buffer, whose default
 * of 212,992 bytes is about 90 full datagrams: a burst of many peers does not fit.
 *
 * @module
 */

import { CodedError, codeOf } from "../base/errors.ts";
import { loopTurn } from "../base/turn.ts";
import { createPoller, errnoOf, type Libc, openLibc, type Poller } from "./libc.ts";
import {
  AF_INET6,
  EADDRINUSE,
  EAGAIN,
  EINTR,
  EINVAL,
  MSG_DONTWAIT,
  SOCK_CLOEXEC,
  SOCK_DGRAM,
  SOL_SOCKET,
} from "./linux.ts";
import { createEndpointReader, portAt, SOCKET_ADDRESS_SIZE, socketAddress } from "./udp_address.ts";
import { bindUdp, type DatagramHandler, RECEIVE_SIZE, type UdpBind } from "./udp.ts";
import { Gathering } from "./udp_gathering.ts";
import { createSendQueue } from "./udp_send_queue.ts";

// Numbers of Linux, the same on x86-64 and AArch64.
const SOCK_NONBLOCK = 0o4000;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;
const IPPROTO_IPV6 = 41;
const IPV6_V6ONLY = 26;
const EAFNOSUPPORT = 97;
const ECONNRESET = 104;
const ECONNREFUSED = 111;
/** A peer's ICMP errors, which some systems report at the next receive, and a signal. */
const HARMLESS = [EINTR, ECONNRESET, ECONNREFUSED];

/** The kernel doubles it, for what it adds to each datagram itself. */
const WANTED_BUFFER = 8 * 1024 * 1024;

/** Datagrams that one call takes, before others get a turn. */
const BATCH = 64;
// `struct mmsghdr` and `struct iovec` of 64-bit Linux.
const HEADER_SIZE = 64;
const LENGTH_OFFSET = 56;
const IOVEC_SIZE = 16;
const ADDRESS_SIZE = 32;

/**
 * Binds a UDP socket.
 *
 * @param hostname Where to bind; `::` takes IPv4 too.
 * @param gathering Decides when datagrams that are in no hurry gather.
 * @throws CodedError `unsupported` when there is no C library or no IPv6, `unavailable` when the
 *   address cannot be bound.
 */
export function bindUdpByLibrary(
  hostname: string,
  port: number,
  gathering = new Gathering(() => performance.now()),
): UdpBind {
  const libc = openLibc();
  let fd = -1;
  try {
    fd = libc.symbols.socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      const errno = errnoOf(libc);
      const code = errno === EAFNOSUPPORT ? "unsupported" : "unavailable";
      throw new CodedError(code, `Cannot open UDP socket: error ${errno}`);
    }
    const option = (level: number, name: number, value: number): boolean =>
      libc.symbols.setsockopt(fd, level, name, Int32Array.of(value), 4) === 0;
    option(IPPROTO_IPV6, IPV6_V6ONLY, 0);
    for (
      const [force, plain] of [[SO_RCVBUFFORCE, SO_RCVBUF], [SO_SNDBUFFORCE, SO_SNDBUF]] as const
    ) {
      if (!option(SOL_SOCKET, force, WANTED_BUFFER)) option(SOL_SOCKET, plain, WANTED_BUFFER);
    }
    const address = socketAddress({ hostname, port });
    if (
      address === undefined ||
      libc.symbols.bind(fd, address as Uint8Array<ArrayBuffer>, SOCKET_ADDRESS_SIZE) !== 0
    ) {
      const errno = address === undefined ? EINVAL : errnoOf(libc);
      // Where IPv6 is turned off, the runtime's socket falls back to all of IPv4.
      const code = hostname === "::" && errno !== EADDRINUSE ? "unsupported" : "unavailable";
      throw new CodedError(
        code,
        `Cannot bind UDP address "${hostname}" port ${port}: error ${errno}`,
      );
    }
    return bound(libc, fd, createPoller(libc, fd), gathering);
  } catch (error) {
    if (fd >= 0) libc.symbols.close(fd);
    libc.close();
    throw error;
  }
}

/**
 * Binds through the library where there is one and the program may use it, else as `bindUdp` does.
 *
 * Each such socket takes a thread of the runtime while it waits: it is for a server, not for the many
 * devices of an emulated fleet.
 *
 * @throws CodedError `unavailable` when the address cannot be bound.
 */
export function bindServerUdp(hostname: string, port: number): UdpBind {
  try {
    return bindUdpByLibrary(hostname, port);
  } catch (error) {
    if (codeOf(error) !== "unsupported") throw error;
    return bindUdp(hostname, port);
  }
}

function bound(libc: Libc, fd: number, poller: Poller, gathering: Gathering): UdpBind {
  const { symbols } = libc;
  const queue = createSendQueue(libc, fd);
  const receiver = createReceiver(libc, fd);
  let mayGather = (): boolean => false;
  let isClosed = false;
  let isFlushDue = false;
  /** Loops that use the socket: it is closed with the last one. */
  let users = 0;

  const leave = (): void => {
    if (--users > 0 || !isClosed) return;
    poller.close();
    symbols.close(fd);
    libc.close();
  };
  const flush = (): void => {
    isFlushDue = false;
    if (isClosed || queue.flush()) return;
    isFlushDue = true;
    users++;
    void poller.writable().then(flush).finally(leave);
  };
  return {
    port: portOf(libc, fd),
    receiveBufferBytes: optionOf(libc, fd, SO_RCVBUF),
    async run(handler, mayGatherNow = () => false) {
      if (isClosed) return;
      users++;
      mayGather = mayGatherNow;
      try {
        while (!isClosed) {
          const count = receiver.receive(handler);
          gathering.note(count);
          if (count === 0) await poller.readable();
          else if (count < BATCH && gathering.isWorthwhile && mayGather()) await gathering.wait();
          else await loopTurn();
        }
      } finally {
        leave();
      }
    },
    send(datagram, endpoint) {
      if (isClosed) return;
      queue.add(datagram, endpoint);
      if (gathering.isWaiting && !mayGather()) gathering.end();
      if (isFlushDue) return;
      isFlushDue = true;
      // What is sent in one go leaves in one call.
      queueMicrotask(flush);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      poller.wake();
      gathering.end();
      users++;
      leave();
    },
  };
}

/** Takes what has come in; returns how much, and at least 1 when there may be more. */
function createReceiver(libc: Libc, fd: number): { receive(handler: DatagramHandler): number } {
  const iovecs = BATCH * HEADER_SIZE;
  const addresses = iovecs + BATCH * IOVEC_SIZE;
  const data = addresses + BATCH * ADDRESS_SIZE;
  const bytes = new Uint8Array(data + BATCH * RECEIVE_SIZE);
  const view = new DataView(bytes.buffer);
  const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
  for (let i = 0; i < BATCH; i++) {
    const header = i * HEADER_SIZE;
    view.setBigUint64(header, base + BigInt(addresses + i * ADDRESS_SIZE), true);
    view.setUint32(header + 8, SOCKET_ADDRESS_SIZE, true);
    view.setBigUint64(header + 16, base + BigInt(iovecs + i * IOVEC_SIZE), true);
    view.setBigUint64(header + 24, 1n, true);
    view.setBigUint64(iovecs + i * IOVEC_SIZE, base + BigInt(data + i * RECEIVE_SIZE), true);
    view.setBigUint64(iovecs + i * IOVEC_SIZE + 8, BigInt(RECEIVE_SIZE), true);
  }
  const readEndpoint = createEndpointReader();
  return {
    receive(handler) {
      const count = libc.symbols.recvmmsg(fd, bytes, BATCH, MSG_DONTWAIT, null);
      if (count < 0) {
        const errno = errnoOf(libc);
        if (errno === EAGAIN) return 0;
        if (HARMLESS.includes(errno)) return BATCH;
        throw new CodedError("internal", `Cannot receive from UDP socket: error ${errno}`);
      }
      for (let i = 0; i < count; i++) {
        const start = data + i * RECEIVE_SIZE;
        const length = view.getUint32(i * HEADER_SIZE + LENGTH_OFFSET, true);
        const source = readEndpoint(bytes, addresses + i * ADDRESS_SIZE);
        handler(bytes.subarray(start, start + length), source);
      }
      return count;
    },
  };
}

function portOf({ symbols }: Libc, fd: number): number {
  const address = new Uint8Array(SOCKET_ADDRESS_SIZE);
  symbols.getsockname(fd, address, Uint32Array.of(SOCKET_ADDRESS_SIZE));
  return portAt(address, 0);
}

function optionOf({ symbols }: Libc, fd: number, name: number): number {
  const value = new Int32Array(1);
  symbols.getsockopt(fd, SOL_SOCKET, name, value, Uint32Array.of(4));
  return value[0] ?? 0;
}
