// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Transfers between two devices over a network with faults, in virtual time.
 *
 * @module
 */

import { silentLogger } from "../base/log.ts";
import { SERVER_ADDRESS } from "./addresses.ts";
import { type Device, startDevice } from "./device.ts";
import { generateKey } from "./keys.ts";
import { acceptOne, assertSame, pattern, readAll } from "./testing.ts";
import { writeAll } from "../rpc/write_all.ts";
import {
  type NetworkFaults,
  type VirtualClock,
  virtualClock,
  type VirtualNetwork,
  virtualNetwork,
} from "./testing_network.ts";

/** 100 Mbit/s, 2 ms round trip. */
export const LINE: NetworkFaults = { bytesPerSecond: 12_500_000, queue: 100, delayMs: 1 };

/** A server and a machine on a virtual network. */
export interface World {
  readonly clock: VirtualClock;
  readonly network: VirtualNetwork;
  readonly server: Device;
  readonly machine: Device;
}

const MACHINE_ADDRESS = "fdae:41e4:649b:9303::5";

/** Runs something with a server and a machine that know of each other. */
export async function withWorld(
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
    bindUdp: () => network.bind("10.0.0.1"),
  });
  const machine = await startDevice({
    ...common,
    privateKey: machineKey.privateKey,
    address: MACHINE_ADDRESS,
    bindUdp: () => network.bind("10.0.0.2"),
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
export async function transfer({ clock, server, machine }: World, size: number): Promise<number> {
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
