// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What every tunnel device has, whatever carries TCP behind it: UDP socket, WireGuard core, peers.
 *
 * @module
 */

import { clearImmediate, setImmediate } from "node:timers";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { PortRange } from "../base/port_range.ts";
import { ipv6Bytes, type RandomBytes, secureRandom } from "./addresses.ts";
import { keyBytes } from "./keys.ts";
import { createPacketRoutes, type PacketStreams } from "./packet_streams.ts";
import { createPeerTable } from "./peer_table.ts";
import type { PeerTable } from "./peers.ts";
import { steadyClock, TimerQueue } from "./timers.ts";
import { bindUdp } from "./udp.ts";
import { WireguardCore } from "./wireguard/core.ts";
import { localIdentity } from "./wireguard/handshake.ts";

/** Options of a device. */
export interface DeviceOptions {
  /** Base64. */
  readonly privateKey: string;
  /** UDP port; 0 picks a free one. */
  readonly port: number;
  /** Where to bind; all addresses of both families when absent. */
  readonly bindAddress?: string;
  /** Our own address inside the tunnel. */
  readonly address: string;
  /**
   * Where machines may open connections when the host's own sockets are behind the tunnel;
   * everywhere when absent. In user mode nothing is there but what listens.
   */
  readonly openPorts?: readonly PortRange[];
  readonly log: Logger;
  /** Absent: a clock that a change of the machine's time does not move. */
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  /** Opens what takes the place of the UDP socket; {@linkcode bindUdp} when absent. */
  readonly bindUdp?: typeof bindUdp;
}

/** What lies behind the core. */
export interface InnerNet {
  /** Takes a packet from a peer to our own address. */
  deliver(packet: Uint8Array): void;
  /** The peer with an address, as a map key, is gone. */
  dropPeer(addressKey: string): void;
}

/** What the inner net is built with. */
export interface CoreParts {
  /** Our own address inside the tunnel, 16 bytes. */
  readonly address: Uint8Array;
  readonly core: WireguardCore;
  readonly timers: TimerQueue;
  readonly random: RandomBytes;
  nowMs(): number;
  /** Runs something at the end of a turn of the event loop. */
  defer(run: () => void): void;
}

/** A running core with its sockets. */
export interface DeviceCore<I extends InnerNet> {
  readonly core: WireguardCore;
  readonly inner: I;
  readonly peers: PeerTable;
  readonly packets: PacketStreams;
  readonly port: number;
  /** As in `UdpBind`. */
  readonly receiveBufferBytes: number | undefined;
  /** Rejects when the device breaks; stays pending otherwise. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

/**
 * Starts a core.
 *
 * @param createInner Makes what lies behind it; called once, before any packet comes.
 * @throws CodedError `invalidArgument` for a malformed key or address, `unavailable` when the port
 *   cannot be bound.
 */
export function startDeviceCore<I extends InnerNet>(
  options: DeviceOptions,
  createInner: (parts: CoreParts) => I,
): DeviceCore<I> {
  const clock = options.clock ?? steadyClock;
  const random = options.random ?? secureRandom;
  const address = ipv6Bytes(options.address);
  const identity = localIdentity(keyBytes(options.privateKey, "private key"));
  const timers = new TimerQueue(clock);
  const open = options.bindUdp ?? bindUdp;
  const bind = open(options.bindAddress ?? "::", options.port);
  const nowMs = (): number => clock.nowMs();
  const wallMs = (): number => options.clock === undefined ? Date.now() : clock.nowMs();
  const turns = createTurns();
  const core: WireguardCore = new WireguardCore({
    identity,
    address,
    timers,
    nowMs,
    wallMs,
    random,
    send: (datagram, endpoint) => {
      if (!packets.send(datagram, endpoint)) bind.send(datagram, endpoint);
    },
    defer: turns.defer,
    deliver: (packet) => inner.deliver(packet),
  });
  const packets = createPacketRoutes((packet, source) => core.receive(packet, source));
  const inner: I = createInner({ address, core, timers, random, nowMs, defer: turns.defer });
  const running = bind.run(
    (datagram, source) => core.receive(datagram, source),
    () => core.isQuiet,
  );
  const failed = new Promise<never>((_, reject) => running.catch(reject));
  failed.catch(() => {});
  return {
    core,
    inner,
    port: bind.port,
    receiveBufferBytes: bind.receiveBufferBytes,
    failed,
    packets,
    peers: createPeerTable(core, (key) => inner.dropPeer(key), () => wallMs() - nowMs()),
    async close() {
      packets.close();
      bind.close();
      timers.close();
      turns.close();
      await running.catch(() => {});
    },
  };
}

/** What is put off to the end of a turn of the event loop, and is forgotten with the device. */
function createTurns(): { defer(run: () => void): void; close(): void } {
  const pending = new Set<ReturnType<typeof setImmediate>>();
  return {
    defer(run) {
      const immediate = setImmediate(() => {
        pending.delete(immediate);
        run();
      });
      pending.add(immediate);
    },
    close() {
      for (const immediate of pending) clearImmediate(immediate);
    },
  };
}
