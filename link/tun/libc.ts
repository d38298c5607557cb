// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The few functions of the C library that a TUN device takes, for Linux on 64-bit machines.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
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

/** glibc, then musl on both processors. */
const NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/**
 * Opens the library.
 *
 * @throws CodedError `unsupported` when the program may not, or there is none.
 */
export function openLibc(): Libc {
  if (Deno.build.os !== "linux") {
    throw new CodedError("unsupported", "Cannot use TUN: it needs Linux");
  }
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") {
    throw new CodedError("unsupported", "Cannot use TUN: the program runs without --allow-ffi");
  }
  let cause: unknown;
  for (const name of NAMES) {
    try {
      return Deno.dlopen(name, SYMBOLS);
    } catch (error) {
      cause = error;
    }
  }
  throw new CodedError("unsupported", "Cannot use TUN: the C library cannot be opened", { cause });
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
