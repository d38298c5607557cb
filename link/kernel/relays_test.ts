// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { type CodedError, codeOf } from "../../base/errors.ts";
import { silentLogger } from "../../base/log.ts";
import {
  randomNodeAddress,
  randomVirtualAddress,
  SERVER_ADDRESS,
  VIRTUAL_PORT,
} from "../addresses.ts";
import { type Device, startDevice } from "../device.ts";
import { generateKey } from "../keys.ts";
import type { AttachedStream, PacketSink } from "../packet_streams.ts";
import { acceptOne, echo, exchange, pattern } from "../testing.ts";
import { bindUdp, formatEndpoint, parseEndpoint } from "../udp.ts";
import { createRelays } from "./relays.ts";

const NAME = `[${randomVirtualAddress()}]:${VIRTUAL_PORT}`;
const SINK: PacketSink = { send: () => {}, end: () => {} };

/** Joins a machine's device with relays, as a stream would. */
function connect(relays: ReturnType<typeof createRelays>, machine: Device): () => void {
  const ends: { server?: AttachedStream; machine?: AttachedStream } = {};
  ends.server = relays.attach(NAME, {
    send: (packet) => ends.machine?.receive(packet),
    end: () => {},
  });
  ends.machine = machine.packets.attach(NAME, {
    send: (packet) => ends.server?.receive(packet),
    end: () => {},
  });
  return () => {
    ends.server?.detach();
    ends.machine?.detach();
  };
}

Deno.test("Relays carry a peer that a UDP device knows only by a loopback endpoint", async () => {
  const [serverKey, machineKey] = [generateKey(), generateKey()];
  const address = randomNodeAddress();
  const common = { port: 0, bindAddress: "127.0.0.1", log: silentLogger };
  // Our own device stands where the kernel's would: behind a UDP port.
  const server = await startDevice({ ...common, ...serverKey, address: SERVER_ADDRESS });
  const machine = await startDevice({ ...common, ...machineKey, address });
  const relays = createRelays(server.port);
  const told = relays.hold(parseEndpoint(NAME));
  await server.peers.put("m", {
    publicKey: machineKey.publicKey,
    allowedIp: address,
    endpoint: formatEndpoint(told),
  });
  await machine.peers.put("s", {
    publicKey: serverKey.publicKey,
    allowedIp: SERVER_ADDRESS,
    endpoint: NAME,
  });
  const listener = await machine.net.listen(50_000);
  for (let round = 0; round < 2; round++) {
    const disconnect = connect(relays, machine);
    const [client, { stream }] = await Promise.all([
      server.net.dial(address, 50_000),
      acceptOne(listener),
    ]);
    const data = pattern(1024 * 1024);
    await Promise.all([echo(stream), exchange(client, data)]);
    client.close();
    stream.close();
    const endpoint = (await server.peers.stats()).get("m")?.endpoint ?? "";
    // The stream came again, the endpoint stayed: the peer holds it.
    assert.equal(endpoint, formatEndpoint(told));
    assert.equal(formatEndpoint(relays.nameOf(parseEndpoint(endpoint))), NAME);
    disconnect();
  }
  listener.close();
  relays.close();
  await machine.close();
  await server.close();
});

Deno.test("Relays end a stream that is replaced, and all when they are closed", () => {
  const relays = createRelays(1);
  const ends: (string | undefined)[] = [];
  const end = (error: CodedError): void => void ends.push(codeOf(error));
  const first = relays.attach(NAME, { send: () => {}, end });
  relays.attach(NAME, { send: () => {}, end });
  assert.deepEqual(ends, ["aborted"]);
  first.detach();
  first.detach();
  relays.close();
  assert.deepEqual(ends, ["aborted", "unavailable"]);
});

/** Binds a port as soon as whoever had it has let go. */
async function untilBound(port: number): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (true) {
    try {
      return bindUdp("127.0.0.1", port).close();
    } catch (error) {
      assert.ok(Date.now() < deadline, String(error));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

Deno.test("Relays close a socket with the last that needs it", async () => {
  const relays = createRelays(1);
  const name = parseEndpoint(NAME);
  const told = relays.hold(name);
  const attached = relays.attach(NAME, SINK);
  relays.release(name);
  assert.deepEqual(relays.nameOf(told), name);
  assert.deepEqual(relays.hold(name), told);
  attached.detach();
  relays.release(name);
  assert.deepEqual(relays.nameOf(told), told);
  await untilBound(told.port);
  // What is reached by UDP is left as it is.
  const plain = parseEndpoint("192.0.2.7:50180");
  assert.deepEqual(relays.hold(plain), plain);
  relays.release(plain);
  relays.close();
});

Deno.test("Relays take nothing from others on loopback", async () => {
  const kernel = bindUdp("127.0.0.1", 0);
  const stranger = bindUdp("127.0.0.1", 0);
  const relays = createRelays(kernel.port);
  const told = relays.hold(parseEndpoint(NAME));
  const seen = Promise.withResolvers<Uint8Array>();
  relays.attach(NAME, { send: seen.resolve, end: () => {} });
  // Both are on the way in this order.
  stranger.send(Uint8Array.of(1), told);
  kernel.send(Uint8Array.of(2), told);
  assert.deepEqual(await seen.promise, Uint8Array.of(2));
  relays.close();
  kernel.close();
  stranger.close();
});
