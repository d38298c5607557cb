// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A whole tunnel device in one thread: UDP socket, WireGuard core and user-mode net.
 *
 * It needs no privilege. A program may run many of them in one thread.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { addressKey, ipv6Bytes } from "./addresses.ts";
import { type DeviceOptions, startDeviceCore } from "./device_core.ts";
import type { QueueListener } from "./net/accept_queue.ts";
import { echoReply } from "./net/icmpv6.ts";
import { DESTINATION_OFFSET, PROTOCOL_TCP } from "./net/ipv6.ts";
import { TcpStack } from "./net/tcp_stack.ts";
import type { IncomingTcp, TcpStream } from "./net/tcp_stream.ts";
import type { PacketStreams } from "./packet_streams.ts";
import type { PeerTable } from "./peers.ts";
import type { DialOptions } from "./tunnel_net.ts";
import type { WireguardCore } from "./wireguard/core.ts";

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
  /** As in `UdpBind`. */
  readonly receiveBufferBytes: number | undefined;
  /** Rejects when the device breaks; stays pending otherwise. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

/**
 * Starts a device.
 *
 * @throws CodedError `invalidArgument` for a malformed key or address, `unavailable` when the port
 *   cannot be bound.
 */
export async function startDevice(options: DeviceOptions): Promise<Device> {
  const device = startDeviceCore(options, (parts) => {
    const { core } = parts;
    const stack = new TcpStack({
      ...parts,
      send: (packet, destination) => core.sendPacket(packet, destination),
    });
    return {
      stack,
      deliver: (packet: Uint8Array) => {
        if (packet[6] === PROTOCOL_TCP) return stack.receive(packet);
        const reply = echoReply(packet);
        if (reply !== undefined) core.sendPacket(reply, addressKey(reply, DESTINATION_OFFSET));
      },
      dropPeer: (key: string) => stack.dropPeer(key),
    };
  });
  const { core, inner: { stack } } = device;
  return await Promise.resolve({
    port: device.port,
    receiveBufferBytes: device.receiveBufferBytes,
    failed: device.failed,
    packets: device.packets,
    peers: device.peers,
    net: deviceNet(core, stack),
    async close() {
      stack.close();
      await device.close();
    },
  });
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
