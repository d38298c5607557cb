// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A tunnel device that is the kernel's own WireGuard: programs listen on and connect from the
 * tunnel address with ordinary sockets. It needs CAP_NET_ADMIN and the kernel's module.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { CodedError, codeOf, formatError } from "../base/errors.ts";
import { ipv6Bytes } from "./addresses.ts";
import type { DeviceOptions } from "./device_core.ts";
import { openKernelInterface, removeAbandoned } from "./kernel/interface.ts";
import { KernelPeers } from "./kernel/kernel_peers.ts";
import { createRelays } from "./kernel/relays.ts";
import { keyBytes, publicKeyOf } from "./keys.ts";
import { createPeerTable } from "./peer_table.ts";
import { INTERFACE_NAME, PREFIX_LENGTH, type TunDevice } from "./tun_device.ts";
import { localIdentity } from "./wireguard/handshake.ts";

/** What the kernel has of a device's options. */
export type KernelDeviceOptions = Pick<
  DeviceOptions,
  "privateKey" | "port" | "bindAddress" | "address" | "openPorts"
>;

/**
 * Starts a device.
 *
 * @throws CodedError `invalidArgument` for a malformed key or address, `unavailable` when the port
 *   is taken, `unsupported`, `permissionDenied` or `alreadyExists` as `openKernelInterface` does.
 */
export async function startKernelDevice(options: KernelDeviceOptions): Promise<TunDevice> {
  if ((options.bindAddress ?? "::") !== "::") {
    throw new CodedError(
      "invalidArgument",
      `Cannot bind "${options.bindAddress}": the kernel's WireGuard takes all addresses`,
    );
  }
  const privateKey = keyBytes(options.privateKey, "private key");
  const identity = localIdentity(privateKey);
  const kernel = openKernelInterface({
    name: INTERFACE_NAME,
    address: ipv6Bytes(options.address),
    prefixLength: PREFIX_LENGTH,
    privateKey,
    publicKey: Buffer.from(identity.publicKey).toString("base64"),
    port: options.port,
    ...(options.openPorts === undefined ? {} : { openPorts: options.openPorts }),
  });
  const relays = createRelays(kernel.port);
  const failed = Promise.race([kernel.failed, relays.failed]);
  failed.catch(() => {});
  return await Promise.resolve({
    // The kernel's connections with a peer that is gone run into their time-outs; its times are of
    // the wall clock.
    peers: createPeerTable(new KernelPeers(kernel, relays, identity), () => {}, () => 0),
    packets: relays,
    port: kernel.port,
    // The socket is inside the kernel.
    receiveBufferBytes: undefined,
    failed,
    close() {
      relays.close();
      kernel.close();
      return Promise.resolve();
    },
  });
}

/**
 * Removes what a device of this kind left behind when its process was killed, before one of another
 * kind starts. Without the right to do so nothing happens.
 *
 * @throws CodedError `invalidArgument` for a malformed key.
 */
export function clearKernelDevice({ privateKey }: Pick<DeviceOptions, "privateKey">): void {
  removeAbandoned(INTERFACE_NAME, publicKeyOf(privateKey));
}

/** Adds to the error of a port that is taken what may have it, where nobody could look. */
export function withAbandonedHint(error: unknown): unknown {
  if (codeOf(error) !== "unavailable") return error;
  return new CodedError(
    "unavailable",
    `${
      formatError(error)
    }; if mode "kernel" ran here and was killed, its interface still has the ` +
      `port: "ip link delete ${INTERFACE_NAME}" removes it`,
  );
}
