// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A whole tunnel device in one thread: UDP socket, WireGuard core and user-mode net.
 *
 * It needs no privilege. A program may run many of them in one thread.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { clearImmediate, setImmediate } from "node:timers";
import type { Clock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { addressKey, ipv6Bytes, type RandomBytes, secureRandom } from "./addresses.ts";
import { keyBytes } from "./keys.ts";
import { echoReply } from "./net/icmpv6.ts";
import { PROTOCOL_TCP } from "./net/ipv6.ts";
import type { QueueListener } from "./net/accept_queue.ts";
import { TcpStack } from "./net/tcp_stack.ts";
import type { IncomingTcp, TcpStream } from "./net/tcp_stream.ts";
import { createPacketRoutes, type PacketStreams } from "./packet_streams.ts";
import type { PeerConfig, PeerStats, PeerTable } from "./peers.ts";
import { steadyClock, TimerQueue } from "./timers.ts";
import type { DialOptions } from "./tunnel_net.ts";
import {
  bindUdp,
  formatEndpoint,
  isAddress,
  parseEndpoint,
  type UdpBind,
  type UdpEndpoint,
} from "./udp.ts";
import { WireguardCore } from "./wireguard/core.ts";
import { localIdentity } from "./wireguard/handshake.ts";
import type { Peer } from "./wireguard/peer.ts";

/** Options of {@linkcode startDevice}. */
export interface DeviceOptions {
  /** Base64. */
  readonly privateKey: string;
  /** UDP port; 0 picks a free one. */
  readonly port: number;
  /** Where to bind; all addresses of both families when absent. */
  readonly bindAddress?: string;
  /** Our own address inside the tunnel. */
  readonly address: string;
  readonly log: Logger;
  /** Absent: a clock that a change of the machine's time does not move. */
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  /** Takes the place of the UDP socket. */
  readonly bind?: UdpBind;
}

/** A net that says more about its streams than a `TunnelNet` does. */
export interface DeviceNet {
  listen(port: number): Promise<QueueListener<IncomingTcp>>;
  dial(address: string, port: number, options?: DialOptions): Promise<TcpStream>;
}

/** A running device. */
export interface Device {
  readonly net: DeviceNet;
  readonly peers: PeerTable;
  /** Ways to peers that are not reached over UDP. */
  readonly packets: PacketStreams;
  /** The UDP port that is bound. */
  readonly port: number;
  /** Rejects when the device breaks; stays pending otherwise. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

interface KnownPeer {
  readonly config: PeerConfig;
  readonly peer: Peer;
}

/**
 * Starts a device.
 *
 * @throws CodedError `invalidArgument` for a malformed key or address, `unavailable` when the port
 *   cannot be bound.
 */
export async function startDevice(options: DeviceOptions): Promise<Device> {
  const clock = options.clock ?? steadyClock;
  const random = options.random ?? secureRandom;
  const address = ipv6Bytes(options.address);
  const identity = localIdentity(keyBytes(options.privateKey, "private key"));
  const timers = new TimerQueue(clock);
  const bind = options.bind ?? bindUdp(options.bindAddress ?? "::", options.port);
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
    deliver: (packet) => {
      if (packet[6] === PROTOCOL_TCP) return stack.receive(packet);
      const reply = echoReply(packet);
      if (reply !== undefined) core.sendPacket(reply, addressKey(reply, 24));
    },
  });
  const stack: TcpStack = new TcpStack({
    address,
    timers,
    nowMs,
    random,
    defer: turns.defer,
    send: (packet, destination) => core.sendPacket(packet, destination),
  });
  const packets = createPacketRoutes((packet, source) => core.receive(packet, source));
  const running = bind.run((datagram, source) => core.receive(datagram, source));
  const failed = new Promise<never>((_, reject) => running.catch(reject));
  failed.catch(() => {});

  return await Promise.resolve({
    port: bind.port,
    failed,
    packets,
    net: deviceNet(core, stack),
    peers: peerTable(core, stack, () => wallMs() - nowMs()),
    async close() {
      stack.close();
      packets.close();
      bind.close();
      timers.close();
      turns.close();
      await running.catch(() => {});
    },
  });
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

function deviceNet(core: WireguardCore, stack: TcpStack): DeviceNet {
  return {
    listen: (port) => Promise.try(() => stack.listen(port)),
    dial: (text, port, options) =>
      Promise.try(() => {
        const address = ipv6Bytes(text);
        if (!core.hasRoute(addressKey(address))) {
          throw new CodedError("unavailable", `Cannot dial [${text}]:${port}: no such peer`);
        }
        return stack.dial(address, port, options);
      }),
  };
}

/** @param wallOffsetMs What has to be added to the device's clock to get the wall clock. */
function peerTable(core: WireguardCore, stack: TcpStack, wallOffsetMs: () => number): PeerTable {
  const known = new Map<string, KnownPeer>();
  const owners = new WeakMap<Peer, string>();

  const drop = (id: string, { peer }: KnownPeer): void => {
    known.delete(id);
    core.removePeer(peer);
    stack.dropPeer(peer.addressKey);
  };
  const add = (id: string, config: PeerConfig): Peer => {
    const publicKey = keyBytes(config.publicKey, "public key of peer");
    const address = ipv6Bytes(config.allowedIp);
    const before = known.get(id);
    if (before !== undefined) drop(id, before);
    for (const other of core.conflicts(publicKey, address)) {
      const owner = owners.get(other);
      const entry = owner === undefined ? undefined : known.get(owner);
      if (owner !== undefined && entry !== undefined) drop(owner, entry);
    }
    const peer = core.addPeer(publicKey, address);
    if (peer === undefined) {
      throw new CodedError("invalidArgument", `Cannot add peer "${id}": its key is a weak point`);
    }
    owners.set(peer, id);
    return peer;
  };
  return {
    async put(id, config, options = {}) {
      const endpoint = config.endpoint === undefined || config.endpoint === ""
        ? undefined
        : await resolveEndpoint(config.endpoint);
      options.signal?.throwIfAborted();
      const before = known.get(id);
      const isSame = before !== undefined && before.config.publicKey === config.publicKey &&
        before.peer.addressKey === addressKey(ipv6Bytes(config.allowedIp));
      const peer = isSame ? before.peer : add(id, config);
      known.set(id, { config, peer });
      // What a peer's own packets have told is newer than an endpoint that was given before.
      if (endpoint !== undefined && before?.config.endpoint !== config.endpoint || !isSame) {
        peer.endpoint = endpoint ?? peer.endpoint;
      }
      peer.setKeepalive((config.keepaliveSeconds ?? 0) * 1000);
    },
    remove(id) {
      const entry = known.get(id);
      if (entry !== undefined) drop(id, entry);
      return Promise.resolve();
    },
    stats() {
      const offsetMs = wallOffsetMs();
      return Promise.resolve(
        new Map([...known].map(([id, entry]) => [id, statsOf(entry, offsetMs)])),
      );
    },
  };
}

function statsOf({ config, peer }: KnownPeer, offsetMs: number): PeerStats {
  return {
    publicKey: config.publicKey,
    lastHandshakeMs: peer.lastHandshakeMs === 0 ? 0 : Math.round(peer.lastHandshakeMs + offsetMs),
    endpoint: peer.endpoint === undefined ? "" : formatEndpoint(peer.endpoint),
    receivedBytes: peer.receivedBytes,
    sentBytes: peer.sentBytes,
  };
}

async function resolveEndpoint(text: string): Promise<UdpEndpoint> {
  const endpoint = parseEndpoint(text);
  if (isAddress(endpoint.hostname)) return endpoint;
  try {
    const { address } = await lookup(endpoint.hostname);
    return { hostname: address, port: endpoint.port };
  } catch (error) {
    throw new CodedError("unavailable", `Cannot resolve endpoint "${text}"`, { cause: error });
  }
}
