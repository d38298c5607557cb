// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The machine's way for WireGuard packets where no UDP goes: a gRPC stream to the server, opened
 * again whenever it breaks.
 *
 * @module
 */

import type { Device } from "../link/device.ts";
import { runOverGrpc } from "../link/wireguard_over_grpc.ts";
import type { Channel } from "../rpc/client.ts";
import type { Boot } from "./boot.ts";

/** A machine opens its stream again this long after any error, also after being replaced. */
const REOPEN_MS = 5_000;

/** Carries packets until the signal aborts. */
export async function relayPackets(
  { core }: Boot,
  device: Device,
  endpoint: string,
  openChannel: () => Channel,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const channel = openChannel();
    try {
      await runOverGrpc({ channel, packets: device.packets, endpoint, signal });
    } catch (error) {
      core.log.debug("packet stream of an emulated machine ended", { id: endpoint, error });
    } finally {
      channel.close();
    }
    await core.clock.sleep(REOPEN_MS, signal);
  }
}
