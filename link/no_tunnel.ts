// SPDX-License-Identifier: AGPL-3.0-or-later

/** The tunnel of a server that runs without one: nobody is ever reached. @module */

import { CodedError } from "../base/errors.ts";
import type { PacketTunnel } from "./tunnel.ts";

/** Creates a tunnel that refuses everything. */
export function noTunnel(): PacketTunnel {
  const disabled = (): CodedError =>
    new CodedError("unavailable", "Cannot reach machines: the tunnel is disabled");
  const refuse = (): Promise<never> => Promise.reject(disabled());
  return {
    net: { listen: refuse, dial: refuse },
    peers: {
      put: () => Promise.resolve(),
      remove: () => Promise.resolve(),
      stats: () => Promise.resolve(new Map()),
    },
    packets: {
      attach: () => {
        throw disabled();
      },
    },
    port: 0,
    failed: new Promise<never>(() => {}),
    close: () => Promise.resolve(),
  };
}
