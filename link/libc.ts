// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The few functions of the C library that the tunnel's socket and interface take, for Linux on
 * 64-bit machines.
 *
 * @module
 */

import { openCLibrary } from "../base/c_library.ts";
import { CodedError } from "../base/errors.ts";

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
  ioctlValue: { name: "ioctl", parameters: ["i32", "u64", "u64"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  recvmmsg: { parameters: ["i32", "buffer", "u32", "i32", "pointer"], result: "i32" },
  sendmmsg: { parameters: ["i32", "buffer", "u32", "i32"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32", nonblocking: true },
  memcpy: { parameters: ["buffer", "pointer", "usize"], result: "pointer" },
  __errno_location: { parameters: [], result: "pointer" },
} as const satisfies Deno.ForeignLibraryInterface;

/** The library. */
export type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

/**
 * Opens the library.
 *
 * @throws CodedError `unsupported` when the program may not, or there is none.
 */
export function openLibc(): Libc {
  return openCLibrary(SYMBOLS);
}

const ERRNO = new Int32Array(1);

/**
 * The number of the last error; right after a failed call only.
 *
 * It is copied by the library itself, because the runtime's own view of a pointer asks for the
 * permission to load libraries again, which the program has given up by the time of most errors.
 */
export function errnoOf({ symbols }: Libc): number {
  symbols.memcpy(ERRNO, symbols.__errno_location(), 4n);
  return ERRNO[0] ?? 0;
}

const POLLIN = 0x0001;
const POLLOUT = 0x0004;
const POLL_FAILED = 0x0038;

/** Waits for one descriptor. */
export interface Poller {
  /** Resolves when there is something to read, or {@linkcode wake} was called; false: it is gone. */
  readable(): Promise<boolean>;
  /** The same for room to write. */
  writable(): Promise<boolean>;
  /** Ends all waits, and those to come. */
  wake(): void;
  /** Closes what the poller itself has opened; after all waits have ended. */
  close(): void;
}

/**
 * Makes a poller. A wait takes one thread of the runtime for as long as it lasts.
 *
 * @throws CodedError `unsupported` when the system has no more descriptors.
 */
export function createPoller(libc: Libc, fd: number): Poller {
  const { symbols } = libc;
  const event = symbols.eventfd(0, 0);
  if (event < 0) {
    throw new CodedError("unsupported", `Cannot open eventfd: error ${errnoOf(libc)}`);
  }
  // Two of `struct pollfd`: descriptor, wanted and returned events.
  const create = (wanted: number): DataView<ArrayBuffer> => {
    const view = new DataView(new ArrayBuffer(16));
    view.setInt32(0, fd, true);
    view.setInt16(4, wanted, true);
    view.setInt32(8, event, true);
    view.setInt16(12, POLLIN, true);
    return view;
  };
  const wait = async (view: DataView<ArrayBuffer>): Promise<boolean> => {
    await symbols.poll(view, 2n, -1);
    return (view.getInt16(6, true) & POLL_FAILED) === 0;
  };
  const reading = create(POLLIN);
  const writing = create(POLLOUT);
  return {
    readable: () => wait(reading),
    writable: () => wait(writing),
    wake() {
      // Nobody reads it, so it stays signalled.
      symbols.write(event, new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0]), 8n);
    },
    close: () => void symbols.close(event),
  };
}
