// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A server of which only the tunnel is there, for `tunnel_scale_bench.ts` and
 * `tunnel_storm_bench.ts`: the real thread of the tunnel with its own TCP.
 *
 * @module
 */

import { silentLogger } from "../../base/log.ts";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import { startTunnel, type Tunnel } from "../../link/tunnel.ts";
import type { ByteStream } from "../../rpc/stream.ts";
import { serveLines } from "./line_process.ts";

/** A peer as the state knows it after a restart. */
export interface KnownPeer {
  readonly publicKey: string;
  readonly address: string;
  readonly lastEndpoint?: string;
}

/** What the program is asked for. */
export type ServerRequest =
  | { readonly kind: "start"; readonly privateKey: string; readonly port: number }
  | { readonly kind: "load"; readonly peers: readonly KnownPeer[] }
  /** Reads everything that comes to a port of the tunnel. */
  | { readonly kind: "sink"; readonly port: number }
  | { readonly kind: "stats" };

/** What it knows of its peers. */
export interface ServerStats {
  readonly peers: readonly KnownPeer[];
  /** Peers that have completed a handshake with this process. */
  readonly connected: number;
  /** Bytes that came to the sink. */
  readonly sunk: number;
}

let tunnel: Tunnel | undefined;
let sunk = 0;

async function sink(port: number): Promise<void> {
  const listener = await started().net.listen(port);
  void (async () => {
    for await (const { stream } of listener) void drain(stream).catch(() => {});
  })();
}

async function drain(stream: ByteStream): Promise<void> {
  const buffer = new Uint8Array(65_536);
  for (let n = await stream.read(buffer); n !== null; n = await stream.read(buffer)) sunk += n;
  stream.close();
}

function started(): Tunnel {
  if (tunnel === undefined) throw new Error("The tunnel was not started");
  return tunnel;
}

async function stats(): Promise<ServerStats> {
  const all = [...await started().peers.stats()];
  return {
    sunk,
    connected: all.filter(([, peer]) => peer.lastHandshakeMs > 0).length,
    peers: all.map(([address, { publicKey, endpoint }]) => ({
      address,
      publicKey,
      lastEndpoint: endpoint,
    })),
  };
}

await serveLines(async (message) => {
  const request = message as ServerRequest;
  switch (request.kind) {
    case "start":
      tunnel = await startTunnel({
        privateKey: request.privateKey,
        port: request.port,
        bindAddress: "127.0.0.1",
        address: SERVER_ADDRESS,
        mode: "user",
        log: silentLogger,
      });
      return tunnel.port;
    case "load":
      await Promise.all(
        request.peers.map(({ address, publicKey, lastEndpoint = "" }) =>
          started().peers.put(address, { publicKey, allowedIp: address, lastEndpoint })
        ),
      );
      return;
    case "sink":
      return await sink(request.port);
    case "stats":
      return await stats();
  }
});
await tunnel?.close();
