// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { codeOf } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import { randomNodeAddress, SERVER_ADDRESS } from "./addresses.ts";
import { type Device, startDevice } from "./device.ts";
import { generateKey } from "./keys.ts";
import { acceptOne, assertSame, pattern, readAll } from "./testing.ts";
import { writeAll } from "../rpc/write_all.ts";

interface Pair {
  readonly server: Device;
  readonly machine: Device;
  readonly machineAddress: string;
  readonly serverKey: string;
  readonly machineKey: string;
}

/** A server and a machine that knows where the server is, not the other way round. */
async function withPair(run: (pair: Pair) => Promise<void>): Promise<void> {
  const serverKey = generateKey();
  const machineKey = generateKey();
  const machineAddress = randomNodeAddress();
  const common = { port: 0, bindAddress: "127.0.0.1", log: silentLogger };
  const server = await startDevice({
    ...common,
    privateKey: serverKey.privateKey,
    address: SERVER_ADDRESS,
  });
  const machine = await startDevice({
    ...common,
    privateKey: machineKey.privateKey,
    address: machineAddress,
  });
  try {
    await server.peers.put("m", { publicKey: machineKey.publicKey, allowedIp: machineAddress });
    await machine.peers.put("s", {
      publicKey: serverKey.publicKey,
      allowedIp: `${SERVER_ADDRESS}/128`,
      endpoint: `127.0.0.1:${server.port}`,
      keepaliveSeconds: 25,
    });
    await run({
      server,
      machine,
      machineAddress,
      serverKey: serverKey.privateKey,
      machineKey: machineKey.publicKey,
    });
  } finally {
    await machine.close();
    await server.close();
  }
}

Deno.test("startDevice() carries some MiB each way between two devices", () =>
  withPair(async ({ server, machine }) => {
    const listener = await server.net.listen(0);
    const [value, client] = await Promise.all([
      acceptOne(listener),
      machine.net.dial(SERVER_ADDRESS, listener.port),
    ]);
    const data = pattern(4 * 1024 * 1024);
    const echo = (async () => {
      const all = await readAll(value.stream);
      await writeAll(value.stream, all);
      await value.stream.closeWrite();
    })();
    const received = readAll(client);
    await writeAll(client, data);
    await client.closeWrite();
    assertSame(await received, data);
    await echo;
    client.close();
    value.stream.close();
    listener.close();
  }));

Deno.test("startDevice() dials the machine once it has come", () =>
  withPair(async ({ server, machine, machineAddress }) => {
    const listener = await machine.net.listen(50_000);
    // The server cannot begin: it does not know where the machine is. The packet waits.
    const [stream, value] = await Promise.all([
      server.net.dial(machineAddress, 50_000),
      acceptOne(listener),
    ]);
    assert.equal(value.remoteAddress, SERVER_ADDRESS);
    await writeAll(stream, new TextEncoder().encode("hello"));
    const buffer = new Uint8Array(10);
    assert.equal(await value.stream.read(buffer), 5);
    stream.close();
    assert.equal(await value.stream.read(buffer), null);
    value.stream.close();
    listener.close();
    const stats = (await server.peers.stats()).get("m");
    assert.ok(stats !== undefined && stats.lastHandshakeMs > 0);
    assert.equal(stats.endpoint, `127.0.0.1:${machine.port}`);
  }));

Deno.test("startDevice() goes to machines that it knew before it was started again", () =>
  withPair(async ({ server, machine, machineAddress, serverKey, machineKey }) => {
    const listener = await machine.net.listen(1);
    const [first, { stream }] = await Promise.all([
      server.net.dial(machineAddress, 1),
      acceptOne(listener),
    ]);
    const { endpoint = "" } = (await server.peers.stats()).get("m") ?? {};
    await server.close();
    const again = await startDevice({
      port: server.port,
      bindAddress: "127.0.0.1",
      log: silentLogger,
      privateKey: serverKey,
      address: SERVER_ADDRESS,
    });
    await again.peers.put("m", { publicKey: machineKey, allowedIp: machineAddress, endpoint });
    // The machine has nothing to send and would not notice by itself.
    const deadline = Date.now() + 30_000;
    while (!((await again.peers.stats()).get("m")?.lastHandshakeMs ?? 0)) {
      assert.ok(Date.now() < deadline, "No handshake");
      await new Promise((resolve) => setImmediate(resolve));
    }
    await again.close();
    first.close();
    stream.close();
    listener.close();
  }));

Deno.test("put() prefers what a peer's packets told to a remembered endpoint, not to a given one", () =>
  withPair(async ({ server, machine, machineAddress, machineKey }) => {
    const config = { publicKey: machineKey, allowedIp: machineAddress };
    const endpointNow = async () => (await server.peers.stats()).get("m")?.endpoint;
    await server.peers.put("m", { ...config, lastEndpoint: "127.0.0.1:8" });
    assert.equal(await endpointNow(), "127.0.0.1:8");
    await server.peers.put("m", { ...config, endpoint: "127.0.0.1:9" });
    assert.equal(await endpointNow(), "127.0.0.1:9");
    const listener = await server.net.listen(0);
    const [{ stream }, client] = await Promise.all([
      acceptOne(listener),
      machine.net.dial(SERVER_ADDRESS, listener.port),
    ]);
    assert.equal(await endpointNow(), `127.0.0.1:${machine.port}`);
    await server.peers.put("m", { ...config, lastEndpoint: "127.0.0.1:10" });
    assert.equal(await endpointNow(), `127.0.0.1:${machine.port}`);
    await server.peers.put("m", { ...config, endpoint: "127.0.0.1:10" });
    assert.equal(await endpointNow(), "127.0.0.1:10");
    client.close();
    stream.close();
    listener.close();
  }));

Deno.test("dial() says that the port is closed", () =>
  withPair(async ({ machine }) => {
    await assert.rejects(
      machine.net.dial(SERVER_ADDRESS, 9),
      (error) => codeOf(error) === "unavailable" && /connection refused/.test(String(error)),
    );
  }));

Deno.test("dial() stops when its signal aborts", () =>
  withPair(async ({ server, machine, machineAddress }) => {
    await machine.close();
    const abort = new AbortController();
    const dialing = server.net.dial(machineAddress, 1, { signal: abort.signal });
    abort.abort();
    await assert.rejects(dialing, (error) => codeOf(error) === "cancelled");
  }));
