// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One machine that sends as fast as it can, for `tunnel_storm_bench.ts`.
 *
 * @module
 */

import { silentLogger } from "../../base/log.ts";
import { randomNodeAddress, SERVER_ADDRESS } from "../../link/addresses.ts";
import { startDevice } from "../../link/device.ts";
import { generateKey } from "../../link/keys.ts";
import { serveLines } from "./line_process.ts";
import type { KnownPeer } from "./tunnel_server.ts";

/** What the program is asked for. */
export type SenderRequest =
  | { readonly kind: "who" }
  | {
    readonly kind: "send";
    readonly publicKey: string;
    readonly endpoint: string;
    readonly port: number;
  };

const { privateKey, publicKey } = generateKey();
const address = randomNodeAddress();
const device = await startDevice({
  privateKey,
  port: 0,
  bindAddress: "127.0.0.1",
  address,
  log: silentLogger,
});

async function send(port: number): Promise<void> {
  const stream = await device.net.dial(SERVER_ADDRESS, port);
  const chunk = new Uint8Array(65_536);
  void (async () => {
    while (true) await stream.write(chunk);
  })().catch(() => {});
}

await serveLines(async (message) => {
  const request = message as SenderRequest;
  if (request.kind === "who") return { publicKey, address } satisfies KnownPeer;
  const { endpoint } = request;
  await device.peers.put("s", {
    publicKey: request.publicKey,
    allowedIp: SERVER_ADDRESS,
    endpoint,
  });
  await send(request.port);
});
Deno.exit(0);
