// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Says whether a program that lives has an interface of the kernel.
 *
 * The interface outlives a process that is killed, and does not say whose it is. A socket with an
 * abstract name belongs to the same network namespace, and ends with its process.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { errnoOf, type Libc } from "../libc.ts";
import { EADDRINUSE, SOCK_CLOEXEC, SOCK_DGRAM } from "../linux.ts";
import { concat, uint16 } from "./netlink.ts";

const AF_UNIX = 1;

/**
 * Takes the lock of an interface.
 *
 * @returns The descriptor that holds it, or `undefined` when another process does.
 * @throws CodedError `unsupported` when this system has no such sockets.
 */
export function lockInterface(libc: Libc, name: string): number | undefined {
  const { symbols } = libc;
  const fd = symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw refused(libc, "socket");
  // `struct sockaddr_un`: an abstract name begins with a zero and has no end.
  const text = new TextEncoder().encode(`\0${lockName(name)}`);
  const address = concat(uint16(AF_UNIX), text) as Uint8Array<ArrayBuffer>;
  if (symbols.bind(fd, address, address.length) === 0) return fd;
  const isTaken = errnoOf(libc) === EADDRINUSE;
  const error = isTaken ? undefined : refused(libc, "bind");
  symbols.close(fd);
  if (error !== undefined) throw error;
  return undefined;
}

/** The name of the socket, as `ss -x` shows it behind an "@". */
export function lockName(name: string): string {
  return `batuta-${name}`;
}

function refused(libc: Libc, what: string): CodedError {
  return new CodedError(
    "unsupported",
    `Cannot lock the interface: ${what} failed with error ${errnoOf(libc)}`,
  );
}
