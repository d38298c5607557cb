// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The tunnel's net when the kernel has the tunnel address: ordinary sockets.
 *
 * @module
 */

import { canonicalIpv6 } from "./addresses.ts";
import { dialTcp, listenTcp } from "../rpc/tcp.ts";
import type { TunnelNet } from "./tunnel_net.ts";

/** @param address The tunnel address of this machine. */
export function kernelNet(address: string): TunnelNet {
  return {
    // Only on the tunnel address: other networks of the machine have no business there.
    listen: (port) => Promise.try(() => listenTcp({ hostname: address, port })),
    dial: (text, port, { signal } = {}) =>
      Promise.try(() =>
        dialTcp({
          hostname: canonicalIpv6(text),
          port,
          ...(signal === undefined ? {} : { signal }),
        })
      ),
  };
}
