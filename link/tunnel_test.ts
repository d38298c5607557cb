// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import { randomNodeAddress, SERVER_ADDRESS } from "./addresses.ts";
import { type Device, startDevice } from "./device.ts";
import { generateKey } from "./keys.ts";
import { acceptOne, assertSame, echo, exchange, pattern, readAll } from "./testing.ts";
import { startTunnel, type Tunnel } from "./tunnel.ts";

interface Setup {
  readonly tunnel: Tunnel;
  readonly machine: Device;
  readonly machineAddress: string;
}

async function withTunnel(run: (setup: Setup) => Promise<void>): Promise<void> {
  const serverKey = generateKey();
  const machineKey = generateKey();
  const machineAddress = randomNodeAddress();
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
  try {
    await tunnel.peers.put("m", { publicKey: machineKey.publicKey, allowedIp: machineAddress });
    await machine.peers.put("s", {
      publicKey: serverKey.publicKey,
      allowedIp: SERVER_ADDRESS,
      endpoint: `127.0.0.1:${tunnel.port}`,
      keepaliveSeconds: 25,
    });
    await run({ tunnel, machine, machineAddress });
  } finally {
    await machine.close();
    await tunnel.close();
  }
}

Deno.test("startTunnel() serves machines that dial", () =>
  withTunnel(async ({ tunnel, machine, machineAddress }) => {
    const listener = await tunnel.net.listen(8091);
    assert.equal(listener.port, 8091);
    const [{ stream, remoteAddress }, client] = await Promise.all([
      acceptOne(listener),
      machine.net.dial(SERVER_ADDRESS, 8091),
    ]);
    assert.equal(remoteAddress, machineAddress);
    const data = pattern(4 * 1024 * 1024);
    await Promise.all([echo(stream), exchange(client, data)]);
    client.close();
    stream.close();
    listener.close();
  }));

Deno.test("startTunnel() dials machines", () =>
  withTunnel(async ({ tunnel, machine, machineAddress }) => {
    const listener = await machine.net.listen(50_000);
    const [{ stream }, client] = await Promise.all([
      acceptOne(listener),
      tunnel.net.dial(machineAddress, 50_000),
    ]);
    const data = pattern(2 * 1024 * 1024);
    await Promise.all([echo(stream), exchange(client, data)]);
    const stats = (await tunnel.peers.stats()).get("m");
    assert.ok(stats !== undefined && stats.receivedBytes > data.length);
    client.close();
    stream.close();
    listener.close();
  }));

Deno.test("startTunnel() holds back a sender while nobody reads", () =>
  withTunnel(async ({ tunnel, machine }) => {
    const listener = await tunnel.net.listen(0);
    const [{ stream }, client] = await Promise.all([
      acceptOne(listener),
      machine.net.dial(SERVER_ADDRESS, listener.port),
    ]);
    const data = pattern(8 * 1024 * 1024);
    let written = 0;
    const writing = (async () => {
      while (written < data.length) written += await client.write(data.subarray(written));
      await client.closeWrite();
    })();
    // A round trip through both threads and the tunnel: whatever could move has moved by then.
    for (let i = 0; i < 50; i++) await tunnel.peers.stats();
    assert.ok(written < data.length / 2, `${written} bytes were taken`);
    assertSame(await readAll(stream), data);
    await writing;
    client.close();
    stream.close();
    listener.close();
  }));

Deno.test("startTunnel() reports what went wrong with the codes of the device", () =>
  withTunnel(async ({ tunnel, machine, machineAddress }) => {
    await assert.rejects(
      tunnel.net.dial(randomNodeAddress(), 1),
      (error) => codeOf(error) === "unavailable",
    );
    const listener = await tunnel.net.listen(7000);
    await assert.rejects(tunnel.net.listen(7000), (error) => codeOf(error) === "alreadyExists");
    listener.close();
    await assert.rejects(
      tunnel.peers.put("x", { publicKey: "?", allowedIp: machineAddress }),
      (error) => codeOf(error) === "invalidArgument",
    );
    await machine.net.dial(SERVER_ADDRESS, 1).catch(() => {});
    const abort = new AbortController();
    await machine.close();
    const dialing = tunnel.net.dial(machineAddress, 1, { signal: abort.signal });
    abort.abort();
    await assert.rejects(dialing, (error) => codeOf(error) === "cancelled");
  }));

Deno.test("startTunnel() fails when the port is taken", () =>
  withTunnel(async ({ tunnel }) => {
    await assert.rejects(
      startTunnel({
        privateKey: generateKey().privateKey,
        address: SERVER_ADDRESS,
        port: tunnel.port,
        bindAddress: "127.0.0.1",
        mode: "user",
        log: silentLogger,
      }),
      (error) => codeOf(error) === "unavailable",
    );
  }));

Deno.test("Tunnel.close() ends streams and listeners", () =>
  withTunnel(async ({ tunnel, machine }) => {
    const listener = await tunnel.net.listen(0);
    const [{ stream }, client] = await Promise.all([
      acceptOne(listener),
      machine.net.dial(SERVER_ADDRESS, listener.port),
    ]);
    const next = listener[Symbol.asyncIterator]().next();
    const reading = stream.read(new Uint8Array(1));
    await Promise.all([
      tunnel.close(),
      assert.rejects(reading, (error) => codeOf(error) === "unavailable"),
    ]);
    assert.equal((await next).done, true);
    client.close();
  }));

Deno.test("startTunnel() says why it cannot be what it was told to be", async () => {
  const options = {
    privateKey: generateKey().privateKey,
    address: SERVER_ADDRESS,
    port: 0,
    bindAddress: "127.0.0.1",
    log: silentLogger,
  };
  await assert.rejects(
    startTunnel({ ...options, mode: "kernel" }),
    (error) => codeOf(error) === "invalidArgument" && /takes all addresses/.test(String(error)),
  );
});
