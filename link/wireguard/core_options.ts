// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a {@linkcode WireguardCore} is made of, and what it counts.
 *
 * @module
 */

import type { RandomBytes } from "../addresses.ts";
import type { TimerQueue } from "../timers.ts";
import type { Source } from "./cookies.ts";
import type { LocalIdentity } from "./handshake.ts";

/** Counters of a device; they only grow. */
export interface CoreCounters {
  /** Datagrams that are no WireGuard message. */
  malformed: number;
  /** Handshake messages without a valid first MAC, from unknown peers, or forged. */
  refusedHandshakes: number;
  /** Transport messages without a session, forged or repeated. */
  refusedTransports: number;
  /** Initiations that were dropped, or answered with a cookie, because too many came. */
  deferredHandshakes: number;
  /** Inner packets with a foreign source or destination, or no IPv6 packet. */
  refusedPackets: number;
}

/** What a core is made of. */
export interface CoreOptions {
  readonly identity: LocalIdentity;
  /** Our own inner address, 16 bytes. */
  readonly address: Uint8Array;
  readonly timers: TimerQueue;
  /** A time that never goes back. */
  nowMs(): number;
  /** The wall clock, which a peer's clock of an earlier run is compared with. */
  wallMs(): number;
  readonly random: RandomBytes;
  /** Sends a datagram; the core uses its memory again when this returns. */
  send(datagram: Uint8Array, endpoint: Source): void;
  /** Takes an inner packet, checked as the invariant says. */
  deliver(packet: Uint8Array): void;
  /** Runs something after the packets that have already come in. */
  defer(run: () => void): void;
}
