// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A larger receive buffer for the UDP socket, which the runtime offers no way to set.
 *
 * The default of 212,992 bytes is about 90 full packets: a burst of many peers does not fit.
 *
 * @module
 */

import type { Libc } from "./libc.ts";

const SOL_SOCKET = 1;
const SO_TYPE = 3;
const SO_RCVBUFFORCE = 33;
const SOCK_DGRAM = 2;
const WANTED_BYTES = 4 * 1024 * 1024;
/** The descriptors among which the socket is looked for; it was opened a moment ago. */
const MAX_DESCRIPTORS = 4096;
/** `struct sockaddr_storage`; the port stands at offset 2 for both families. */
const ADDRESS_SIZE = 128;

/**
 * Enlarges the buffer of the UDP socket that is bound to a port.
 *
 * @returns Whether the socket was found and its buffer was changed.
 */
export function enlargeReceiveBuffer({ symbols }: Libc, port: number): boolean {
  const address = new Uint8Array(ADDRESS_SIZE);
  const size = new Uint32Array(1);
  const value = new Int32Array(1);
  const found = (fd: number): boolean => {
    size[0] = ADDRESS_SIZE;
    if (symbols.getsockname(fd, address, size) !== 0) return false;
    if ((((address[2] ?? 0) << 8) | (address[3] ?? 0)) !== port) return false;
    size[0] = value.byteLength;
    if (symbols.getsockopt(fd, SOL_SOCKET, SO_TYPE, value, size) !== 0) return false;
    return value[0] === SOCK_DGRAM;
  };
  for (let fd = 3; fd < MAX_DESCRIPTORS; fd++) {
    if (!found(fd)) continue;
    value[0] = WANTED_BYTES;
    return symbols.setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, value, value.byteLength) === 0;
  }
  return false;
}
