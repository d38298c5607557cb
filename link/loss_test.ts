// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { SERVER_ADDRESS } from "./addresses.ts";
import { acceptOne, assertSame, echo, pattern, readAll } from "./testing.ts";
import { writeAll } from "../rpc/write_all.ts";
import type { NetworkFaults } from "./testing_network.ts";
import { LINE, transfer, withWorld } from "./testing_world.ts";

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

Deno.test("a window that grows on a long path overflows no queue", () =>
  withWorld(1100, { ...LINE, delayMs: 100 }, async (world) => {
    const rate = await transfer(world, 4 * 1024 * 1024);
    // All at once, 100 packets of queue lose hundreds, and the transfer takes twice as long.
    assert.ok(world.network.counts.lost < 10, `${world.network.counts.lost} packets were lost`);
    assert.ok(rate > 10, `${rate} Mbit/s`);
  }));

Deno.test("packets that are late do not slow a transfer down as lost ones do", () =>
  withWorld(1101, { ...LINE, delayMs: 10, reordered: 0.1 }, async (world) => {
    const rate = await transfer(world, 4 * 1024 * 1024);
    assert.ok(rate > 20, `${rate} Mbit/s`);
  }));

Deno.test("a connection that is paced and has nothing in flight goes on by itself", () =>
  withWorld(22, { ...LINE, loss: 0.15 }, async (world) => {
    const rate = await transfer(world, 256 * 1024);
    assert.ok(rate > 0.05, `${rate} Mbit/s`);
  }));

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
