// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The table of WireGuard peers as the rest of the program sees it.
 *
 * @module
 */

/** One peer. */
export interface PeerConfig {
  /** Base64. */
  readonly publicKey: string;
  /** The peer's one inner address, with or without `/128`. */
  readonly allowedIp: string;
  /** `host:port` where the peer is; it roams as packets come from elsewhere. */
  readonly endpoint?: string;
  /** Where it was last seen; used only while the device knows nothing better. */
  readonly lastEndpoint?: string;
  /** Sends something at least this often, to keep a path through a NAT open; absent or 0 is never. */
  readonly keepaliveSeconds?: number;
}

/** What is known of a peer. */
export interface PeerStats {
  /** The key that the figures belong to, base64. */
  readonly publicKey: string;
  /** When the last handshake was completed, in ms since the epoch; 0 is never. */
  readonly lastHandshakeMs: number;
  /** `host:port` where it was last seen; empty when unknown. IPv6 hosts stand in brackets. */
  readonly endpoint: string;
  /** Bytes of WireGuard messages, headers included. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** Options of a change to the table. */
export interface PeerOptions {
  readonly signal?: AbortSignal;
}

/** The peers of a device, by an ID of the caller's choice. */
export interface PeerTable {
  /**
   * Adds or changes a peer; the same call again changes nothing. Another key under the same ID, or
   * another ID for the same key or address, replaces the peer that was there.
   *
   * @throws CodedError `invalidArgument` when the configuration is malformed.
   */
  put(id: string, peer: PeerConfig, options?: PeerOptions): Promise<void>;
  /** Removes a peer with its sessions; nothing happens when there is none. */
  remove(id: string, options?: PeerOptions): Promise<void>;
  /** A snapshot of all peers. */
  stats(): Promise<Map<string, PeerStats>>;
}
