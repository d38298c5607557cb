// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a TCP connection, its stack and its owner are to each other.
 *
 * @module
 */

import type { TimerQueue } from "../timers.ts";
import { MTU } from "../wireguard/messages.ts";
import { IPV6_HEADER_SIZE } from "./ipv6.ts";
import type { RingPool } from "./ring.ts";
import { TCP_HEADER_SIZE, type TcpHeader } from "./tcp_segment.ts";

/** The largest segment that a packet of the tunnel holds. */
export const LOCAL_MSS = MTU - IPV6_HEADER_SIZE - TCP_HEADER_SIZE;

/**
 * The window that is offered at first, in bytes.
 *
 * The UDP socket's default receive buffer of 212,992 bytes holds about 90 full packets; a peer that
 * may send more at once than that only makes losses.
 */
export const INITIAL_WINDOW = 65_535;

/** Why a connection ended otherwise than by both sides closing it. */
export type TcpFailure = "refused" | "reset" | "timedOut" | "aborted";

/** Names a connection. */
export interface TcpPath {
  readonly localPort: number;
  /** 16 bytes. */
  readonly remoteAddress: Uint8Array;
  /** The same as a map key. */
  readonly remoteKey: string;
  readonly remotePort: number;
}

/** Writes the payload of a segment at an offset of its packet. */
export type FillPayload = (packet: Uint8Array, offset: number) => void;

/** What a connection needs from the stack. */
export interface TcpHost {
  readonly timers: TimerQueue;
  nowMs(): number;
  /** Sends a segment with `length` bytes of payload. */
  emit(path: TcpPath, header: TcpHeader, length: number, fill?: FillPayload): void;
  /** Runs something after the packets that have already come in. */
  defer(run: () => void): void;
  /** Whether one more acknowledgement of something doubtful may go out at this moment. */
  allowChallenge(): boolean;
  /** Where the memory of buffers comes from. */
  readonly pool: RingPool;
  /** The largest window that a connection may offer at this moment, in bytes. */
  windowLimit(): number;
}

/** What the owner of a connection is told. */
export interface TcpEvents {
  /** The handshake is complete. */
  onEstablished(): void;
  /** Data or the end came in, or room to write appeared. */
  onProgress(): void;
  /** The connection is gone. */
  onClosed(failure: TcpFailure | undefined): void;
}
