// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A tunnel device whose inner side is the kernel's, through a TUN interface: programs listen on and
 * connect from the tunnel address with ordinary sockets. It needs CAP_NET_ADMIN.
 *
 * @module
 */

import { addressKey, ipv6Bytes } from "./addresses.ts";
import { type DeviceOptions, startDeviceCore } from "./device_core.ts";
import { createInnerFilter } from "./inner_filter.ts";
import { DESTINATION_OFFSET, IPV6_HEADER_SIZE } from "./net/ipv6.ts";
import type { PacketStreams } from "./packet_streams.ts";
import type { PeerTable } from "./peers.ts";
import { openTun } from "./tun/interface.ts";

/** The name of the interface, whatever makes it. */
export const INTERFACE_NAME = "siderolink";
/** Of the tunnel's addresses, which are routed to the interface. */
export const PREFIX_LENGTH = 64;

/** A running device whose inner net is the kernel's. */
export interface TunDevice {
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
 * Starts a device.
 *
 * @throws CodedError `unsupported` when there can be no TUN interface, and as `startDevice` does.
 */
export async function startTunDevice(options: DeviceOptions): Promise<TunDevice> {
  const tun = openTun({
    name: INTERFACE_NAME,
    address: ipv6Bytes(options.address),
    prefixLength: PREFIX_LENGTH,
  });
  try {
    const { openPorts } = options;
    const mayEnter = openPorts === undefined ? () => true : createInnerFilter(openPorts);
    const device = startDeviceCore(options, () => ({
      deliver: (packet: Uint8Array) => {
        if (mayEnter(packet)) tun.write(packet);
      },
      // The kernel's connections with a peer that is gone run into their time-outs.
      dropPeer: () => {},
    }));
    const running = tun.run((packet) => {
      const isIpv6 = packet.length >= IPV6_HEADER_SIZE && (packet[0] ?? 0) >> 4 === 6;
      if (isIpv6) device.core.sendPacket(packet, addressKey(packet, DESTINATION_OFFSET));
    });
    const broken = new Promise<never>((_, reject) => running.catch(reject));
    const failed = Promise.race([device.failed, broken]);
    failed.catch(() => {});
    return {
      peers: device.peers,
      packets: device.packets,
      port: device.port,
      receiveBufferBytes: device.receiveBufferBytes,
      failed,
      async close() {
        await device.close();
        await tun.close();
      },
    };
  } catch (error) {
    await tun.close();
    throw error;
  }
}
