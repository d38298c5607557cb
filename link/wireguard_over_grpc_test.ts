// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { type CodedError, codeOf } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import { type Channel, createChannel } from "../rpc/client.ts";
import { createRpcServer } from "../rpc/server.ts";
import { dialTcp, listenTcp } from "../rpc/tcp.ts";
import {
  randomNodeAddress,
  randomVirtualAddress,
  SERVER_ADDRESS,
  VIRTUAL_PORT,
} from "./addresses.ts";
import { type Device, startDevice } from "./device.ts";
import { generateKey } from "./keys.ts";
import type { PacketStreams } from "./packet_streams.ts";
import { acceptOne, echo, exchange, pattern } from "./testing.ts";
import { writeAll } from "../rpc/write_all.ts";
import { startTunnel, type Tunnel } from "./tunnel.ts";
import { runOverGrpc, wireguardOverGrpcService } from "./wireguard_over_grpc.ts";

interface Setup {
  readonly tunnel: Tunnel & { readonly packets: PacketStreams };
  readonly machine: Device;
  readonly machineAddress: string;
  readonly channel: Channel;
  /** What the machine was told as its endpoint. */
  readonly endpoint: string;
}

/** A server whose UDP port nobody is told, and a machine that only has gRPC. */
async function withGrpc(run: (setup: Setup) => Promise<void>): Promise<void> {
  const serverKey = generateKey();
  const machineKey = generateKey();
  const machineAddress = randomNodeAddress();
  const endpoint = `[${randomVirtualAddress()}]:${VIRTUAL_PORT}`;
  const common = { port: 0, bindAddress: "127.0.0.1", log: silentLogger };
  const tunnel = await startTunnel({
    ...common,
    privateKey: serverKey.privateKey,
    address: SERVER_ADDRESS,
    mode: "user",
  });
  const machine = await startDevice({
    ...common,
    privateKey: machineKey.privateKey,
    address: machineAddress,
  });
  const rpc = createRpcServer({
    services: [wireguardOverGrpcService({
      packets: tunnel.packets,
      isAllowed: (asked) => asked === endpoint,
    })],
    log: silentLogger,
  });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = rpc.serve(listener);
  const channel = createChannel({
    dial: () => dialTcp({ hostname: "127.0.0.1", port: listener.port }),
    authority: "test",
  });
  await tunnel.peers.put("m", { publicKey: machineKey.publicKey, allowedIp: machineAddress });
  await machine.peers.put("s", {
    publicKey: serverKey.publicKey,
    allowedIp: SERVER_ADDRESS,
    endpoint,
    keepaliveSeconds: 25,
  });
  try {
    await run({ tunnel, machine, machineAddress, channel, endpoint });
  } finally {
    await channel.close();
    listener.close();
    await rpc.close();
    await serving;
    await machine.close();
    await tunnel.close();
  }
}

Deno.test("wireguardOverGrpcService() carries a tunnel both ways", () =>
  withGrpc(async ({ tunnel, machine, machineAddress, channel, endpoint }) => {
    const stop = new AbortController();
    const { packets } = machine;
    const running = runOverGrpc({ channel, packets, endpoint, signal: stop.signal }).catch(
      () => {},
    );
    const listener = await machine.net.listen(50_000);
    const [{ stream }, client] = await Promise.all([
      acceptOne(listener),
      tunnel.net.dial(machineAddress, 50_000),
    ]);
    const data = pattern(1024 * 1024);
    await Promise.all([echo(stream), exchange(client, data)]);
    assert.equal((await tunnel.peers.stats()).get("m")?.endpoint, endpoint);
    client.close();
    stream.close();
    listener.close();
    stop.abort();
    await running;
  }));

Deno.test("wireguardOverGrpcService() refuses an endpoint that nobody was given", () =>
  withGrpc(async ({ machine, channel }) => {
    for (const endpoint of [`[${randomVirtualAddress()}]:50888`, "[fd00::1]:50888"]) {
      const { signal } = new AbortController();
      await assert.rejects(
        runOverGrpc({ channel, packets: machine.packets, endpoint, signal }),
        (error) => codeOf(error) === "permissionDenied",
      );
    }
  }));

Deno.test("wireguardOverGrpcService() takes every spelling of an endpoint for the same", () =>
  withGrpc(async ({ machine, channel, endpoint }) => {
    const stop = new AbortController();
    const errors = [endpoint, endpoint.toUpperCase()].map((spelling) =>
      runOverGrpc({ channel, packets: machine.packets, endpoint: spelling, signal: stop.signal })
        .then(() => undefined, codeOf)
    );
    // The one takes the place of the other.
    assert.equal(await Promise.race(errors), "aborted");
    stop.abort();
    await Promise.all(errors);
  }));

Deno.test("wireguardOverGrpcService() keeps the newest stream of an endpoint", () =>
  withGrpc(async ({ machine, machineAddress, tunnel, channel, endpoint }) => {
    const stop = new AbortController();
    const { packets } = machine;
    const reached = tunnel.net.listen(1);
    const older = runOverGrpc({ channel, packets, endpoint, signal: stop.signal });
    const failed = older.then(() => undefined, (error: CodedError) => error);
    const listener = await machine.net.listen(50_000);
    const accepting = acceptOne(listener);
    const first = await tunnel.net.dial(machineAddress, 50_000);
    // The older stream is in use by then; the newer one takes its place on both sides.
    const newer = runOverGrpc({ channel, packets, endpoint, signal: stop.signal }).catch(() => {});
    const error = await failed;
    assert.equal(error?.code, "aborted");
    const { stream } = await accepting;
    await writeAll(first, new Uint8Array([1]));
    assert.equal(await stream.read(new Uint8Array(1)), 1);
    first.close();
    stream.close();
    listener.close();
    (await reached).close();
    stop.abort();
    await newer;
  }));
