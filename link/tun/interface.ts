// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A TUN interface: the kernel's side of the tunnel.
 *
 * It lives as long as the process holds it; nothing is left behind, however the process ends.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { loopTurn } from "../../base/turn.ts";
import { MTU } from "../wireguard/messages.ts";
import { createPoller, errnoOf, type Libc, openLibc, type Poller } from "../libc.ts";
import { AF_INET6, SOCK_CLOEXEC, SOCK_DGRAM } from "../linux.ts";
import { createFrameBuilder, cutFrame, FRAME_HEADER_SIZE, PACKET_LIMIT } from "./frames.ts";

/** An open interface. */
export interface TunInterface {
  /** Hands over what the kernel sends into the tunnel; the memory is used again afterwards. */
  run(handler: (packet: Uint8Array) => void): Promise<void>;
  /**
   * Gives a packet to the kernel before the turn of the event loop ends; it is dropped when the
   * kernel has no room. Its memory may be used again.
   */
  write(packet: Uint8Array): void;
  close(): Promise<void>;
}

/** What an interface is made of. */
export interface TunOptions {
  /** At most 15 characters. */
  readonly name: string;
  /** 16 bytes. */
  readonly address: Uint8Array;
  /** The length of the prefix that is routed into the tunnel. */
  readonly prefixLength: number;
}

// Numbers of Linux, the same on x86-64 and AArch64.
const O_RDWR = 2;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
const TUNSETIFF = 0x400454can;
const TUNSETOFFLOAD = 0x400454d0n;
const SIOCGIFFLAGS = 0x8913n;
const SIOCSIFFLAGS = 0x8914n;
const SIOCSIFADDR = 0x8916n;
const SIOCSIFMTU = 0x8922n;
const SIOCGIFINDEX = 0x8933n;
const IFF_TUN = 0x0001;
const IFF_NO_PI = 0x1000;
const IFF_VNET_HDR = 0x4000;
const IFF_UP = 0x0001;
/** TUN_F_CSUM and TUN_F_TSO6: the kernel hands over large segments of TCP without checksums. */
const OFFLOADS = 0x01n | 0x04n;

/** `struct ifreq`: the name, then a union. */
const IFREQ_SIZE = 40;
const IFREQ_VALUE = 16;
const NAME_LIMIT = 15;
/** The packet of a frame begins at a multiple of 16. */
const READ_OFFSET = 16 - FRAME_HEADER_SIZE;
const READ_SIZE = FRAME_HEADER_SIZE + PACKET_LIMIT;
/** Packets that are read before others get a turn. */
const BATCH = 64;

/**
 * Creates an interface with an address and brings it up.
 *
 * @throws CodedError `unsupported` when this process or system cannot.
 */
export function openTun(options: TunOptions): TunInterface {
  const libc = openLibc();
  const open: number[] = [];
  const closeAll = (): void => {
    for (const fd of open.splice(0)) libc.symbols.close(fd);
    libc.close();
  };
  const check = (what: string, result: number): number => {
    if (result >= 0) return result;
    const errno = errnoOf(libc);
    throw new CodedError("unsupported", `Cannot use TUN: ${what} failed with error ${errno}`, {
      details: { errno },
    });
  };
  try {
    const path = new TextEncoder().encode("/dev/net/tun\0");
    const fd = check("open", libc.symbols.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
    open.push(fd);
    const control = check("socket", libc.symbols.socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    open.push(control);
    configure(options, (what, request, argument, isTun = false) => {
      check(what, libc.symbols.ioctl(isTun ? fd : control, request, argument));
    });
    check("offloads", libc.symbols.ioctlValue(fd, TUNSETOFFLOAD, OFFLOADS));
    return opened(libc, fd, createPoller(libc, fd), closeAll);
  } catch (error) {
    closeAll();
    throw error;
  }
}

type Ioctl = (what: string, request: bigint, argument: BufferSource, isTun?: boolean) => void;

function configure({ name, address, prefixLength }: TunOptions, ioctl: Ioctl): void {
  const request = (): { bytes: Uint8Array<ArrayBuffer>; view: DataView } => {
    const bytes = new Uint8Array(IFREQ_SIZE);
    bytes.set(new TextEncoder().encode(name).subarray(0, NAME_LIMIT));
    return { bytes, view: new DataView(bytes.buffer) };
  };
  const create = request();
  create.view.setInt16(IFREQ_VALUE, IFF_TUN | IFF_NO_PI | IFF_VNET_HDR, true);
  ioctl(`creation of "${name}"`, TUNSETIFF, create.bytes, true);
  const mtu = request();
  mtu.view.setInt32(IFREQ_VALUE, MTU, true);
  ioctl("setting the MTU", SIOCSIFMTU, mtu.bytes);
  const flags = request();
  ioctl("reading the flags", SIOCGIFFLAGS, flags.bytes);
  flags.view.setInt16(IFREQ_VALUE, flags.view.getInt16(IFREQ_VALUE, true) | IFF_UP, true);
  ioctl("bringing it up", SIOCSIFFLAGS, flags.bytes);
  const index = request();
  ioctl("reading the index", SIOCGIFINDEX, index.bytes);
  // `struct in6_ifreq`: address, length of the prefix, index.
  const assign = new Uint8Array(24);
  assign.set(address);
  const view = new DataView(assign.buffer);
  view.setUint32(16, prefixLength, true);
  view.setInt32(20, index.view.getInt32(IFREQ_VALUE, true), true);
  ioctl("setting the address", SIOCSIFADDR, assign);
}

function opened(libc: Libc, fd: number, poller: Poller, closeAll: () => void): TunInterface {
  const { symbols } = libc;
  let isClosed = false;
  let isFlushDue = false;
  let running: Promise<void> = Promise.resolve();

  const builder = createFrameBuilder((frame) =>
    isClosed || symbols.write(fd, frame as Uint8Array<ArrayBuffer>, BigInt(frame.length)) > 0
  );
  const flush = (): void => {
    isFlushDue = false;
    builder.flush();
  };
  /** Returns whether there was anything. */
  const drain = (
    buffer: Uint8Array<ArrayBuffer>,
    handler: (packet: Uint8Array) => void,
  ): boolean => {
    let count = 0;
    let length = 0;
    do {
      length = Number(symbols.read(fd, buffer, BigInt(READ_SIZE)));
      if (length > FRAME_HEADER_SIZE) count += cutFrame(buffer.subarray(0, length), handler);
    } while (length > 0 && count < BATCH);
    return count > 0;
  };
  const loop = async (handler: (packet: Uint8Array) => void): Promise<void> => {
    const buffer = new Uint8Array(READ_OFFSET + READ_SIZE).subarray(READ_OFFSET);
    while (!isClosed) {
      if (drain(buffer, handler)) {
        await loopTurn();
      } else if (!await poller.readable() && !isClosed) {
        throw new CodedError("internal", "Cannot go on: the TUN interface is gone");
      }
    }
  };
  return {
    run(handler) {
      running = loop(handler);
      return running;
    },
    write(packet) {
      builder.add(packet);
      if (isFlushDue) return;
      isFlushDue = true;
      queueMicrotask(flush);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      poller.wake();
      await running.catch(() => {});
      poller.close();
      closeAll();
    },
  };
}
