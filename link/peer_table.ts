// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The peers of a device by the IDs of its user.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { CodedError } from "../base/errors.ts";
import { addressKey, ipv6Bytes } from "./addresses.ts";
import { keyBytes } from "./keys.ts";
import type { PeerConfig, PeerStats, PeerTable } from "./peers.ts";
import { formatEndpoint, isAddress, parseEndpoint, type UdpEndpoint } from "./udp.ts";
import type { WireguardCore } from "./wireguard/core.ts";
import type { Peer } from "./wireguard/peer.ts";

interface KnownPeer {
  readonly config: PeerConfig;
  readonly peer: Peer;
}

/**
 * Makes the table.
 *
 * @param onDropped Told the address of a peer that is gone, as a map key.
 * @param wallOffsetMs What has to be added to the device's clock to get the wall clock.
 */
export function createPeerTable(
  core: WireguardCore,
  onDropped: (addressKey: string) => void,
  wallOffsetMs: () => number,
): PeerTable {
  const known = new Map<string, KnownPeer>();
  const owners = new WeakMap<Peer, string>();

  const drop = (id: string, { peer }: KnownPeer): void => {
    known.delete(id);
    core.removePeer(peer);
    onDropped(peer.addressKey);
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
      const endpoint = config.endpoint ? await resolveEndpoint(config.endpoint) : undefined;
      const lastEndpoint = config.lastEndpoint ? parseEndpoint(config.lastEndpoint) : undefined;
      options.signal?.throwIfAborted();
      const before = known.get(id);
      const isSame = before !== undefined && before.config.publicKey === config.publicKey &&
        before.peer.addressKey === addressKey(ipv6Bytes(config.allowedIp));
      const peer = isSame ? before.peer : add(id, config);
      known.set(id, { config, peer });
      // What a peer's own packets have told is newer than an endpoint that was given before, and
      // than one that is only remembered.
      if (endpoint !== undefined && (!isSame || before.config.endpoint !== config.endpoint)) {
        peer.endpoint = endpoint;
      } else {
        peer.endpoint ??= lastEndpoint;
      }
      if (!isSame && peer.endpoint !== undefined) core.wakePeer(peer);
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
