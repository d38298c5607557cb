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

/** A peer as the table needs it. */
export interface TablePeer {
  /** The inner address as a map key. */
  readonly addressKey: string;
  endpoint: UdpEndpoint | undefined;
  /** In ms of the device's clock; 0 is never. */
  readonly lastHandshakeMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Sets the interval of persistent keepalives; 0 turns them off. */
  setKeepalive(intervalMs: number): void;
}

/** What has the peers: our own WireGuard, or the kernel's. */
export interface PeerSet<P extends TablePeer> {
  /** Adds a peer; `undefined` when its key is a weak point. */
  addPeer(publicKey: Uint8Array, address: Uint8Array): P | undefined;
  /** The peers that a new one with this key and address would take the place of. */
  conflicts(publicKey: Uint8Array, address: Uint8Array): P[];
  removePeer(peer: P): void;
  /** Goes to a peer whose endpoint is known. */
  wakePeer(peer: P): void;
  /** Brings endpoints and figures up to date where they are not by themselves. */
  refresh?(): void;
}

interface KnownPeer<P> {
  readonly config: PeerConfig;
  readonly peer: P;
}

/**
 * Makes the table.
 *
 * @param onDropped Told the address of a peer that is gone, as a map key.
 * @param wallOffsetMs What has to be added to the device's clock to get the wall clock.
 */
export function createPeerTable<P extends TablePeer>(
  set: PeerSet<P>,
  onDropped: (addressKey: string) => void,
  wallOffsetMs: () => number,
): PeerTable {
  const known = new Map<string, KnownPeer<P>>();
  const owners = new WeakMap<P, string>();

  const drop = (id: string, { peer }: KnownPeer<P>): void => {
    set.removePeer(peer);
    known.delete(id);
    onDropped(peer.addressKey);
  };
  const add = (id: string, config: PeerConfig): P => {
    const publicKey = keyBytes(config.publicKey, "public key of peer");
    const address = ipv6Bytes(config.allowedIp);
    const before = known.get(id);
    if (before !== undefined) drop(id, before);
    for (const other of set.conflicts(publicKey, address)) {
      const owner = owners.get(other);
      const entry = owner === undefined ? undefined : known.get(owner);
      if (owner !== undefined && entry !== undefined) drop(owner, entry);
    }
    const peer = set.addPeer(publicKey, address);
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
      } else if (peer.endpoint === undefined && lastEndpoint !== undefined) {
        if (isSame) set.refresh?.();
        peer.endpoint ??= lastEndpoint;
      }
      if (!isSame && peer.endpoint !== undefined) set.wakePeer(peer);
      peer.setKeepalive((config.keepaliveSeconds ?? 0) * 1000);
    },
    remove: (id) =>
      Promise.try(() => {
        const entry = known.get(id);
        if (entry !== undefined) drop(id, entry);
      }),
    stats: () =>
      Promise.try(() => {
        set.refresh?.();
        const offsetMs = wallOffsetMs();
        return new Map([...known].map(([id, entry]) => [id, statsOf(entry, offsetMs)]));
      }),
  };
}

function statsOf({ config, peer }: KnownPeer<TablePeer>, offsetMs: number): PeerStats {
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
