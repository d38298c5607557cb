// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The peers of the kernel's WireGuard.
 *
 * The kernel has them; what stands here is what it was told, and what it said when it was last
 * asked.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { CodedError } from "../../base/errors.ts";
import { addressKey } from "../addresses.ts";
import type { PeerSet, TablePeer } from "../peer_table.ts";
import type { UdpEndpoint } from "../udp.ts";
import type { LocalIdentity } from "../wireguard/handshake.ts";
import { dh, equalBytes } from "../wireguard/primitives.ts";
import type { KernelInterface } from "./interface.ts";
import type { Relays } from "./relays.ts";
import type { PeerReport } from "./wireguard_messages.ts";

/** How often the peers are read again when somebody changes them meanwhile. */
const MAX_READS = 3;
/** Any interval: setting one sends a first packet. */
const WAKE_SECONDS = 25;
/** The most that the kernel's 16 bits hold. */
const MAX_KEEPALIVE_SECONDS = 65_535;

/** A peer that the kernel has. */
export class KernelPeer implements TablePeer {
  lastHandshakeMs = 0;
  receivedBytes = 0;
  sentBytes = 0;
  keepaliveSeconds = 0;
  /** Where it is, by the name that the program has for it. */
  seenAt: UdpEndpoint | undefined;
  /** The endpoint that the kernel was given for it, in our hands until it gets another one. */
  held: UdpEndpoint | undefined;
  readonly addressKey: string;
  readonly #host: KernelPeers;

  constructor(host: KernelPeers, readonly publicKey: Uint8Array, readonly address: Uint8Array) {
    this.#host = host;
    this.addressKey = addressKey(address);
  }

  get endpoint(): UdpEndpoint | undefined {
    return this.seenAt;
  }

  set endpoint(endpoint: UdpEndpoint | undefined) {
    if (endpoint !== undefined) this.#host.setEndpoint(this, endpoint);
  }

  setKeepalive(intervalMs: number): void {
    const seconds = Math.min(Math.ceil(intervalMs / 1000), MAX_KEEPALIVE_SECONDS);
    if (seconds !== this.keepaliveSeconds) this.#host.setKeepalive(this, seconds);
  }
}

/** All peers of one interface. */
export class KernelPeers implements PeerSet<KernelPeer> {
  readonly #kernel: KernelInterface;
  readonly #relays: Relays;
  readonly #identity: LocalIdentity;
  readonly #byKey = new Map<string, KernelPeer>();
  readonly #byAddress = new Map<string, KernelPeer>();

  constructor(kernel: KernelInterface, relays: Relays, identity: LocalIdentity) {
    this.#kernel = kernel;
    this.#relays = relays;
    this.#identity = identity;
  }

  addPeer(publicKey: Uint8Array, address: Uint8Array): KernelPeer | undefined {
    // The kernel takes both in silence: the one has no sessions ever, the other is not even there.
    if (dh(this.#identity.privateKey, publicKey) === undefined) return undefined;
    if (equalBytes(publicKey, this.#identity.publicKey)) {
      throw new CodedError("invalidArgument", "Cannot add peer: its key is the tunnel's own");
    }
    for (const other of this.conflicts(publicKey, address)) this.removePeer(other);
    this.#kernel.setPeer({ publicKey, allowedIp: address });
    const peer = new KernelPeer(this, publicKey, address);
    this.#byKey.set(keyOf(publicKey), peer);
    this.#byAddress.set(peer.addressKey, peer);
    return peer;
  }

  conflicts(publicKey: Uint8Array, address: Uint8Array): KernelPeer[] {
    const found = [this.#byKey.get(keyOf(publicKey)), this.#byAddress.get(addressKey(address))];
    return [...new Set(found)].filter((peer) => peer !== undefined);
  }

  removePeer(peer: KernelPeer): void {
    const key = keyOf(peer.publicKey);
    if (this.#byKey.get(key) !== peer) return;
    this.#kernel.removePeer(peer.publicKey);
    this.#byKey.delete(key);
    this.#byAddress.delete(peer.addressKey);
    if (peer.held !== undefined) this.#relays.release(peer.held);
    peer.held = undefined;
  }

  /** Has the kernel go to a peer, which it does when it has something to send. */
  wakePeer(peer: KernelPeer): void {
    const { keepaliveSeconds } = peer;
    this.setKeepalive(peer, WAKE_SECONDS);
    this.setKeepalive(peer, keepaliveSeconds);
  }

  setKeepalive(peer: KernelPeer, keepaliveSeconds: number): void {
    this.#kernel.setPeer({ publicKey: peer.publicKey, keepaliveSeconds, isKnown: true });
    peer.keepaliveSeconds = keepaliveSeconds;
  }

  setEndpoint(peer: KernelPeer, endpoint: UdpEndpoint): void {
    const before = peer.held;
    const told = this.#relays.hold(endpoint);
    peer.held = endpoint;
    if (before !== undefined) this.#relays.release(before);
    this.#kernel.setPeer({ publicKey: peer.publicKey, endpoint: told, isKnown: true });
    peer.seenAt = endpoint;
  }

  /** Asks the kernel about all peers at once. */
  refresh(): void {
    const missing = new Set(this.#byKey.values());
    for (let i = 0; i < MAX_READS; i++) {
      const { reports, isInterrupted } = this.#kernel.read();
      for (const report of reports.flatMap(({ peers }) => peers)) {
        const peer = this.#byKey.get(keyOf(report.publicKey));
        if (peer === undefined) continue;
        missing.delete(peer);
        this.#note(peer, report);
      }
      if (!isInterrupted) return this.#restore(missing);
    }
  }

  #note(peer: KernelPeer, report: PeerReport): void {
    const { endpoint, lastHandshakeMs, receivedBytes, sentBytes } = report;
    if (endpoint !== undefined) peer.seenAt = this.#relays.nameOf(endpoint);
    peer.lastHandshakeMs = lastHandshakeMs ?? peer.lastHandshakeMs;
    peer.receivedBytes = receivedBytes ?? peer.receivedBytes;
    peer.sentBytes = sentBytes ?? peer.sentBytes;
  }

  /** What an administrator took away comes back: the state says who has a peer. */
  #restore(missing: Iterable<KernelPeer>): void {
    for (const peer of missing) {
      const { publicKey, address, seenAt, keepaliveSeconds } = peer;
      this.#kernel.setPeer({ publicKey, allowedIp: address });
      if (seenAt !== undefined) this.setEndpoint(peer, seenAt);
      if (keepaliveSeconds > 0) this.setKeepalive(peer, keepaliveSeconds);
    }
  }
}

function keyOf(publicKey: Uint8Array): string {
  return Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.byteLength)
    .toString("latin1");
}
