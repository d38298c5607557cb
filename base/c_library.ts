// SPDX-License-Identifier: AGPL-3.0-or-later

/** The C library of the system. @module */

import { CodedError } from "./errors.ts";

/** glibc, then musl on both processors. */
const NAMES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

/**
 * Opens the library with some of its functions.
 *
 * @throws CodedError `unsupported` when the program may not, or there is none.
 */
export function openCLibrary<S extends Deno.ForeignLibraryInterface>(
  symbols: S,
): Deno.DynamicLibrary<S> {
  if (Deno.build.os !== "linux") {
    throw new CodedError("unsupported", "Cannot call the C library: that needs Linux");
  }
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") {
    throw new CodedError(
      "unsupported",
      "Cannot call the C library: the program runs without --allow-ffi",
    );
  }
  let cause: unknown;
  for (const name of NAMES) {
    try {
      return Deno.dlopen(name, symbols);
    } catch (error) {
      cause = error;
    }
  }
  throw new CodedError("unsupported", "Cannot open the C library", { cause });
}
