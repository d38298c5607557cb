// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * TCP inside the tunnel, the same for every way of carrying it.
 *
 * @module
 */

import type { ByteStream, StreamListener } from "../rpc/stream.ts";

/** Options of {@linkcode TunnelNet.dial}. */
export interface DialOptions {
  readonly signal?: AbortSignal;
}

/** Listens on the device's own tunnel address and connects to the peers'. */
export interface TunnelNet {
  /**
   * Accepts connections to a port; 0 picks a free one.
   *
   * @throws CodedError `alreadyExists` when the port is taken.
   */
  listen(port: number): Promise<StreamListener>;
  /**
   * Opens a connection to a peer's tunnel address.
   *
   * @throws CodedError `unavailable` when nobody answers or the port is closed, `cancelled` when the
   *   signal aborts, `invalidArgument` when the address is malformed.
   */
  dial(address: string, port: number, options?: DialOptions): Promise<ByteStream>;
}
