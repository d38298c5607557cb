// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Calls to the kernel over a netlink socket.
 *
 * A call blocks its thread: the kernel answers while it takes the request, most often within some
 * microseconds.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { errnoOf, type Libc } from "../libc.ts";
import { EAGAIN, EINTR, SOCK_CLOEXEC, SOL_SOCKET } from "../linux.ts";
import {
  encodeRequest,
  type NetlinkEnd,
  type NetlinkMessage,
  type NetlinkRequest,
  readMessages,
} from "./netlink.ts";

/** Networks: interfaces, addresses, filters. */
export const NETLINK_ROUTE = 0;
/** Families of messages that have names. */
export const NETLINK_GENERIC = 16;

// Numbers of Linux, the same on x86-64 and AArch64.
const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SO_RCVTIMEO = 20;
const SOL_NETLINK = 270;
const NETLINK_CAP_ACK = 10;
const NETLINK_EXT_ACK = 11;

/** No list comes in larger pieces. */
const RECEIVE_SIZE = 64 * 1024;
/** How long the kernel may take, in seconds; a module that has to be loaded takes less than one. */
const TIMEOUT_SECONDS = 10;
/** Pieces of one answer; at about a hundred peers each, more than any device has. */
const MAX_PIECES = 100_000;

/** What the kernel answered. */
export interface NetlinkAnswer extends NetlinkEnd {
  readonly messages: readonly NetlinkMessage[];
  /** Whether what is listed changed meanwhile, so that some of it may be missing. */
  readonly isInterrupted: boolean;
}

/** An open socket. */
export interface NetlinkSocket {
  /**
   * Makes a call. What the kernel refuses is an answer too; the memory of the request is cleared,
   * because it may hold a key.
   *
   * @throws CodedError `unavailable` when there is no answer, `internal` for a malformed one.
   */
  call(request: NetlinkRequest): NetlinkAnswer;
  close(): void;
}

/**
 * Opens a socket.
 *
 * @throws CodedError `unsupported` when this system has none.
 */
export function openNetlink(libc: Libc, protocol: number): NetlinkSocket {
  const { symbols } = libc;
  const fd = symbols.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (fd < 0) {
    throw new CodedError(
      "unsupported",
      `Cannot open netlink socket ${protocol}: error ${errnoOf(libc)}`,
    );
  }
  // An error repeats only the header of its request, and says more than a number. Old kernels
  // refuse both, and do as they did.
  for (const option of [NETLINK_CAP_ACK, NETLINK_EXT_ACK]) {
    symbols.setsockopt(fd, SOL_NETLINK, option, Int32Array.of(1), 4);
  }
  // `struct timeval`.
  symbols.setsockopt(
    fd,
    SOL_SOCKET,
    SO_RCVTIMEO,
    BigInt64Array.of(BigInt(TIMEOUT_SECONDS), 0n),
    16,
  );
  const buffer = new Uint8Array(RECEIVE_SIZE);
  let sequence = 0;
  let isClosed = false;

  const failed = (what: string): CodedError =>
    new CodedError("unavailable", `Cannot ask the kernel: ${what} failed with ${errnoOf(libc)}`);
  const receive = (): Uint8Array => {
    while (true) {
      const length = Number(symbols.read(fd, buffer, BigInt(buffer.length)));
      if (length >= 0) return buffer.slice(0, length);
      const errno = errnoOf(libc);
      if (errno === EAGAIN) {
        throw new CodedError("unavailable", "Cannot ask the kernel: it does not answer");
      }
      if (errno !== EINTR) throw failed("reading");
    }
  };
  const collect = (): NetlinkAnswer => {
    const messages: NetlinkMessage[] = [];
    let isInterrupted = false;
    for (let piece = 0; piece < MAX_PIECES; piece++) {
      for (const message of readMessages(receive())) {
        // The rest of a call that was given up.
        if (message.sequence !== sequence) continue;
        isInterrupted ||= message.isInterrupted;
        if (message.end !== undefined) return { ...message.end, messages, isInterrupted };
        messages.push(message);
      }
    }
    throw new CodedError("internal", "Cannot ask the kernel: its answer does not end");
  };
  return {
    call(request) {
      if (isClosed) throw new CodedError("unavailable", "Cannot ask the kernel: closed");
      sequence = (sequence + 1) >>> 0;
      const bytes = encodeRequest(request, sequence) as Uint8Array<ArrayBuffer>;
      const written = Number(symbols.write(fd, bytes, BigInt(bytes.length)));
      const error = written === bytes.length ? undefined : failed("writing");
      bytes.fill(0);
      request.payload.fill(0);
      if (error !== undefined) throw error;
      return collect();
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      symbols.close(fd);
    },
  };
}
