// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Packets that come over something else than UDP, brought to the kernel's WireGuard by UDP.
 *
 * The kernel knows nothing but UDP endpoints. So every endpoint name gets a socket on loopback: to
 * the kernel the peer is there, and the stream behind it may break and come back.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { isVirtualAddress, parseIpv6 } from "../addresses.ts";
import type { PacketSink, PacketStreams } from "../packet_streams.ts";
import { bindUdp, formatEndpoint, parseEndpoint, type UdpBind, type UdpEndpoint } from "../udp.ts";

const LOOPBACK = "127.0.0.1";

interface Relay {
  readonly name: UdpEndpoint;
  readonly socket: UdpBind;
  /** The stream; the kernel's packets are dropped while there is none. */
  sink: PacketSink | undefined;
  /** Streams and peers that need it; it is closed with the last one. */
  users: number;
}

/** The relays of a device. */
export interface Relays extends PacketStreams {
  /** Where the kernel shall send what goes to an endpoint; held until it is released. */
  hold(endpoint: UdpEndpoint): UdpEndpoint;
  /** Lets go of an endpoint that was held. */
  release(endpoint: UdpEndpoint): void;
  /** The endpoint that the kernel knows under another one. */
  nameOf(endpoint: UdpEndpoint): UdpEndpoint;
  /** Rejects when a socket breaks; stays pending otherwise. */
  readonly failed: Promise<never>;
  close(): void;
}

/** @param kernelPort The UDP port of the kernel's WireGuard. */
export function createRelays(kernelPort: number): Relays {
  const byName = new Map<string, Relay>();
  const byPort = new Map<number, Relay>();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const kernel: UdpEndpoint = { hostname: LOOPBACK, port: kernelPort };

  const open = (name: UdpEndpoint): Relay => {
    const socket = bindUdp(LOOPBACK, 0);
    const relay: Relay = { name, socket, sink: undefined, users: 0 };
    byName.set(formatEndpoint(name), relay);
    byPort.set(socket.port, relay);
    socket.run((datagram, { port }) => {
      // Other programs of the host reach loopback too.
      if (port === kernelPort) relay.sink?.send(datagram.slice());
    }).catch(failure.reject);
    return relay;
  };
  const take = (name: UdpEndpoint): Relay => {
    const relay = byName.get(formatEndpoint(name)) ?? open(name);
    relay.users++;
    return relay;
  };
  const give = (relay: Relay | undefined): void => {
    if (relay === undefined || --relay.users > 0) return;
    byName.delete(formatEndpoint(relay.name));
    byPort.delete(relay.socket.port);
    relay.socket.close();
  };
  return {
    failed: failure.promise,
    attach(text, sink) {
      const relay = take(parseEndpoint(text));
      relay.sink?.end(new CodedError("aborted", "peer replaced"));
      relay.sink = sink;
      let isDetached = false;
      return {
        receive(packet) {
          if (relay.sink === sink) relay.socket.send(packet, kernel);
        },
        detach() {
          if (isDetached) return;
          isDetached = true;
          if (relay.sink === sink) relay.sink = undefined;
          give(relay);
        },
      };
    },
    hold(endpoint) {
      if (!isVirtual(endpoint)) return endpoint;
      return { hostname: LOOPBACK, port: take(endpoint).socket.port };
    },
    release(endpoint) {
      if (isVirtual(endpoint)) give(byName.get(formatEndpoint(endpoint)));
    },
    nameOf(endpoint) {
      const relay = endpoint.hostname === LOOPBACK ? byPort.get(endpoint.port) : undefined;
      return relay?.name ?? endpoint;
    },
    close() {
      for (const { socket, sink } of byName.values()) {
        sink?.end(new CodedError("unavailable", "Cannot go on: the tunnel was closed"));
        socket.close();
      }
      byName.clear();
      byPort.clear();
    },
  };
}

function isVirtual({ hostname }: UdpEndpoint): boolean {
  const address = parseIpv6(hostname);
  return address !== undefined && isVirtualAddress(address);
}
