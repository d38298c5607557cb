// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { silentLogger } from "../base/log.ts";
import { SERVER_ADDRESS } from "./addresses.ts";
import { type Device, startDevice } from "./device.ts";
import { generateKey } from "./keys.ts";
import { acceptOne, assertSame, echo, pattern, readAll, writeAll } from "./testing.ts";
import {
  type NetworkFaults,
  type VirtualClock,
  virtualClock,
  type VirtualNetwork,
  virtualNetwork,
} from "./testing_network.ts";

interface World {
  readonly clock: VirtualClock;
  readonly network: VirtualNetwork;
  readonly server: Device;
  readonly machine: Device;
}

const MACHINE_ADDRESS = "fdae:41e4:649b:9303::5";

async function withWorld(
  seed: number,
  faults: NetworkFaults,
  run: (world: World) => Promise<void>,
): Promise<void> {
  const clock = virtualClock();
  const network = virtualNetwork(clock, seed, faults);
  const serverKey = generateKey();
  const machineKey = generateKey();
  const common = { port: 0, log: silentLogger, clock };
  const server = await startDevice({
    ...common,
    privateKey: serverKey.privateKey,
    address: SERVER_ADDRESS,
    bind: network.bind("10.0.0.1"),
  });
  const machine = await startDevice({
    ...common,
    privateKey: machineKey.privateKey,
    address: MACHINE_ADDRESS,
    bind: network.bind("10.0.0.2"),
  });
  await server.peers.put("m", { publicKey: machineKey.publicKey, allowedIp: MACHINE_ADDRESS });
  await machine.peers.put("s", {
    publicKey: serverKey.publicKey,
    allowedIp: SERVER_ADDRESS,
    endpoint: `10.0.0.1:${server.port}`,
    keepaliveSeconds: 25,
  });
  try {
    await run({ clock, network, server, machine });
  } finally {
    await machine.close();
    await server.close();
  }
}

/** Sends `size` bytes from the machine to the server; returns Mbit/s of virtual time. */
async function transfer({ clock, server, machine }: World, size: number): Promise<number> {
  const listener = await server.net.listen(0);
  const [{ stream }, client] = await clock.until(Promise.all([
    acceptOne(listener),
    machine.net.dial(SERVER_ADDRESS, listener.port),
  ]));
  const data = pattern(size);
  const startMs = clock.nowMs();
  const received = readAll(stream);
  const sending = (async () => {
    await writeAll(client, data);
    await client.closeWrite();
  })();
  assertSame(await clock.until(received), data);
  const rate = size * 8 / 1000 / (clock.nowMs() - startMs);
  await clock.until(sending);
  client.close();
  stream.close();
  listener.close();
  return rate;
}

const LINE: NetworkFaults = { bytesPerSecond: 12_500_000, queue: 100, delayMs: 1 };

const CASES: readonly { readonly name: string; readonly faults: NetworkFaults }[] = [
  { name: "0.1 % loss", faults: { ...LINE, loss: 0.001 } },
  { name: "1 % loss", faults: { ...LINE, loss: 0.01 } },
  { name: "5 % loss", faults: { ...LINE, loss: 0.05 } },
  { name: "15 % loss", faults: { ...LINE, loss: 0.15 } },
  { name: "reordering", faults: { ...LINE, reordered: 0.1 } },
  { name: "duplication", faults: { ...LINE, duplicates: 0.1 } },
  { name: "200 ms delay", faults: { ...LINE, delayMs: 100 } },
  { name: "200 ms delay and 1 % loss", faults: { ...LINE, delayMs: 100, loss: 0.01 } },
  {
    name: "everything at once",
    faults: { ...LINE, loss: 0.05, reordered: 0.05, duplicates: 0.05, delayMs: 20 },
  },
];

for (const [index, { name, faults }] of CASES.entries()) {
  const seed = 1000 + index;
  Deno.test(`a transfer completes under ${name} (seed ${seed})`, () =>
    withWorld(seed, faults, async (world) => {
      const rate = await transfer(world, Number(Deno.env.get("RATES") ?? 1) * 1024 * 1024);
      if (Deno.env.has("RATES")) {
        console.log(name, rate.toFixed(2), "Mbit/s", world.network.counts);
      }
      assert.ok(rate > 0);
    }));
}

for (const seed of [2000, 2001, 2002, 2003]) {
  Deno.test(`an echo of more than all buffers hold does not lock up (seed ${seed})`, () =>
    withWorld(
      seed,
      { ...LINE, loss: 0.01, reordered: 0.02 },
      async ({ clock, server, machine }) => {
        const listener = await server.net.listen(0);
        const [{ stream }, client] = await clock.until(Promise.all([
          acceptOne(listener),
          machine.net.dial(SERVER_ADDRESS, listener.port),
        ]));
        const data = pattern(2 * 1024 * 1024);
        const echoing = echo(stream);
        const received = readAll(client);
        const sending = (async () => {
          await writeAll(client, data);
          await client.closeWrite();
        })();
        assertSame(await clock.until(received, 60_000), data);
        await clock.until(Promise.all([echoing, sending]));
        client.close();
        stream.close();
        listener.close();
      },
    ));
}
