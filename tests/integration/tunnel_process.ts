// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A tunnel in a process of its own, so that it can be in another network namespace and be killed.
 *
 * It takes {@linkcode TunnelProcessOptions} as JSON, prints `{"port": N}` once it runs, and then
 * answers each line of input, a {@linkcode TunnelCommand}, with one line. It echoes what comes to
 * {@linkcode ECHO_PORT}.
 *
 * @module
 */

import { formatError } from "../../base/errors.ts";
import { silentLogger } from "../../base/log.ts";
import { randomNodeAddress, secureRandom } from "../../link/addresses.ts";
import { kernelNet } from "../../link/kernel_net.ts";
import { noTunnel } from "../../link/no_tunnel.ts";
import type { PeerConfig } from "../../link/peers.ts";
import { echo, exchange, pattern } from "../../link/testing.ts";
import { type PacketTunnel, startTunnel, type TunnelMode } from "../../link/tunnel.ts";
import { runOverGrpc, wireguardOverGrpcService } from "../../link/wireguard_over_grpc.ts";
import { createChannel } from "../../rpc/client.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { TextLineStream } from "../compat/line_stream.ts";

/** The port inside the tunnel that answers with what it gets. */
export const ECHO_PORT = 8091;

/** What the process runs. */
export interface TunnelProcessOptions {
  /** "none" leaves the tunnel to the system, and only uses its address. */
  readonly mode: TunnelMode | "none";
  readonly privateKey: string;
  readonly address: string;
  readonly port: number;
  readonly peers: Readonly<Record<string, PeerConfig>>;
  /** Takes WireGuard over gRPC on this TCP port. */
  readonly grpcPort?: number;
  /** Goes to the server over gRPC: where it listens, and as whom. */
  readonly overGrpc?: {
    readonly hostname: string;
    readonly port: number;
    readonly endpoint: string;
  };
}

/** What can be asked of it. */
export type TunnelCommand =
  | { readonly do: "send"; readonly address: string; readonly port: number; readonly size: number }
  | { readonly do: "put"; readonly peer: string; readonly config: PeerConfig }
  | { readonly do: "putMany"; readonly count: number }
  | { readonly do: "remove"; readonly peer: string }
  | { readonly do: "stats" }
  | { readonly do: "close" };

function print(value: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(value)}\n`));
}

async function answer(tunnel: PacketTunnel, command: TunnelCommand): Promise<unknown> {
  switch (command.do) {
    case "send": {
      const data = pattern(command.size);
      const startMs = performance.now();
      const stream = await tunnel.net.dial(command.address, command.port);
      await exchange(stream, data);
      stream.close();
      return { milliseconds: Math.round(performance.now() - startMs) };
    }
    case "put":
      await tunnel.peers.put(command.peer, command.config);
      return {};
    case "putMany": {
      const startMs = performance.now();
      for (let i = 0; i < command.count; i++) {
        const publicKey = secureRandom(32).toBase64();
        await tunnel.peers.put(`many-${i}`, { publicKey, allowedIp: randomNodeAddress() });
      }
      return { milliseconds: performance.now() - startMs };
    }
    case "remove":
      await tunnel.peers.remove(command.peer);
      return {};
    case "stats": {
      const startMs = performance.now();
      const stats = Object.fromEntries(await tunnel.peers.stats());
      return { stats, milliseconds: performance.now() - startMs };
    }
    case "close":
      await tunnel.close();
      return {};
  }
}

function start(options: TunnelProcessOptions): Promise<PacketTunnel> {
  const { mode, privateKey, address, port } = options;
  if (mode !== "none") return startTunnel({ mode, privateKey, address, port, log: silentLogger });
  return Promise.resolve({ ...noTunnel(), net: kernelNet(address) });
}

async function run(options: TunnelProcessOptions): Promise<void> {
  const { peers, grpcPort, overGrpc } = options;
  const tunnel = await start(options);
  // As the server does: what is open stays usable.
  Deno.permissions.revokeSync({ name: "ffi" });
  tunnel.failed.catch((error) => print({ failed: formatError(error) }));
  const startMs = performance.now();
  for (const [id, config] of Object.entries(peers)) await tunnel.peers.put(id, config);
  const putMs = performance.now() - startMs;
  const listener = await tunnel.net.listen(ECHO_PORT);
  void (async () => {
    for await (const { stream } of listener) void echo(stream).finally(() => stream.close());
  })();
  if (grpcPort !== undefined) {
    const service = wireguardOverGrpcService({ packets: tunnel.packets, isAllowed: () => true });
    const rpc = createRpcServer({ services: [service], log: silentLogger });
    void rpc.serve(listenTcp({ hostname: "0.0.0.0", port: grpcPort }));
  }
  if (overGrpc !== undefined) {
    const { endpoint, ...server } = overGrpc;
    const channel = createChannel({ dial: () => dialTcp(server), authority: "test" });
    const { signal } = new AbortController();
    runOverGrpc({ channel, packets: tunnel.packets, endpoint, signal })
      .catch((error) => print({ failed: formatError(error) }));
  }
  print({ port: tunnel.port, putMs });
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream());
  for await (const line of lines) {
    print(await answer(tunnel, JSON.parse(line)).catch((error) => ({ error: formatError(error) })));
  }
}

if (import.meta.main) {
  try {
    await run(JSON.parse(Deno.args[0] ?? ""));
  } catch (error) {
    print({ error: formatError(error) });
  }
  Deno.exit();
}
