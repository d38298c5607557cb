// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Numbers of Linux that several callers of the C library need, the same on x86-64 and AArch64.
 *
 * @module
 */

export const EINTR = 4;
export const EIO = 5;
export const EAGAIN = 11;
export const EINVAL = 22;
export const EADDRINUSE = 98;
export const AF_INET6 = 10;
export const SOCK_DGRAM = 2;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
export const MSG_DONTWAIT = 0x40;
