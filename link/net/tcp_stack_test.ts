// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf } from "../../base/errors.ts";
import { ipv6Bytes, secureRandom } from "../addresses.ts";
import { acceptOne, assertSame, pattern, readAll } from "../testing.ts";
import { writeAll } from "../../rpc/write_all.ts";
import { type VirtualClock, virtualClock } from "../testing_network.ts";
import { TimerQueue } from "../timers.ts";
import { checksum, IPV6_HEADER_SIZE, PROTOCOL_TCP, writeIpv6Header } from "./ipv6.ts";
import { TcpStack } from "./tcp_stack.ts";
import {
  ACK,
  optionsSize,
  parseTcp,
  RST,
  SYN,
  TCP_HEADER_SIZE,
  type TcpHeader,
  type TcpSegment,
  writeTcpHeader,
} from "./tcp_segment.ts";

const SERVER = ipv6Bytes("fd00::1");
const CLIENT = ipv6Bytes("fd00::2");

interface Wire {
  readonly clock: VirtualClock;
  readonly server: TcpStack;
  readonly client: TcpStack;
  /** Segments in the order in which they were sent. */
  readonly seen: TcpSegment[];
  /** Whether a packet arrives. */
  filter: (packet: Uint8Array) => boolean;
}

async function withWire(run: (wire: Wire) => Promise<void>): Promise<void> {
  const clock = virtualClock();
  const timers = new TimerQueue(clock);
  const stacks = new Map<number, TcpStack>();
  const make = (address: Uint8Array): TcpStack => {
    const stack = new TcpStack({
      address,
      timers,
      nowMs: () => clock.nowMs(),
      random: secureRandom,
      defer: (todo) => clock.at(clock.nowMs(), todo),
      send: (sent) => {
        const packet = sent.slice();
        const segment = parseTcp(packet);
        if (segment !== undefined) wire.seen.push(segment);
        if (wire.filter(packet)) {
          clock.at(clock.nowMs() + 1, () => stacks.get(packet[39] ?? 0)?.receive(packet));
        }
        return true;
      },
    });
    stacks.set(address[15] ?? 0, stack);
    return stack;
  };
  const wire: Wire = {
    clock,
    server: make(SERVER),
    client: make(CLIENT),
    seen: [],
    filter: () => true,
  };
  try {
    await run(wire);
  } finally {
    wire.client.close();
    wire.server.close();
    assert.equal(wire.client.connectionCount + wire.server.connectionCount, 0);
    assert.equal(wire.client.memoryBytes + wire.server.memoryBytes, 0);
    timers.close();
  }
}

async function connect({ clock, server, client }: Wire) {
  const listener = server.listen(0);
  const [near, { stream: far }] = await clock.until(Promise.all([
    client.dial(SERVER, listener.port),
    acceptOne(listener),
  ]));
  listener.close();
  return { near, far };
}

/** A packet from the client's address that its stack knows nothing of. */
function forge(header: Omit<TcpHeader, "options">): Uint8Array {
  const options = {};
  const packet = new Uint8Array(IPV6_HEADER_SIZE + TCP_HEADER_SIZE + optionsSize(options));
  writeIpv6Header(packet, PROTOCOL_TCP, CLIENT, SERVER);
  writeTcpHeader(packet, { ...header, options });
  const sum = checksum(packet);
  packet[IPV6_HEADER_SIZE + 16] = sum >> 8;
  packet[IPV6_HEADER_SIZE + 17] = sum & 0xff;
  return packet;
}

Deno.test("TcpStack closes cleanly when both sides close at the same time", () =>
  withWire(async (wire) => {
    const { near, far } = await connect(wire);
    near.close();
    far.close();
    await wire.clock.pass(1000);
    // Both wait for stragglers, and then are gone.
    assert.equal(wire.client.connectionCount, 1);
    assert.equal(wire.server.connectionCount, 1);
    assert.ok(wire.seen.every(({ flags }) => !(flags & RST)));
    await wire.clock.pass(31_000);
    assert.equal(wire.client.connectionCount + wire.server.connectionCount, 0);
  }));

Deno.test("TcpStack probes a closed window for as long as the peer answers", () =>
  withWire(async (wire) => {
    const { clock } = wire;
    const { near, far } = await connect(wire);
    const data = pattern(400_000);
    const sending = writeAll(near, data).then(() => near.closeWrite());
    await clock.pass(600_000);
    const received = readAll(far);
    assertSame(await clock.until(received, 120_000), data);
    await sending;
    near.close();
    far.close();
  }));

Deno.test("TcpStack gives up a peer that is silent, whether it has to send or not", () =>
  withWire(async (wire) => {
    const { clock } = wire;
    const first = await connect(wire);
    const second = await connect(wire);
    wire.filter = () => false;
    const idle = assert.rejects(first.near.read(new Uint8Array(1)), /does not answer/);
    await second.near.write(new Uint8Array(1));
    const busy = assert.rejects(second.near.read(new Uint8Array(1)), /does not answer/);
    await clock.until(Promise.all([idle, busy]), 600_000);
    for (const { near, far } of [first, second]) {
      near.close();
      far.close();
    }
  }));

Deno.test("TcpStack refuses a closed port, and data after the end of its owner", () =>
  withWire(async (wire) => {
    const { clock, client } = wire;
    await assert.rejects(clock.until(client.dial(SERVER, 9)), /connection refused/);
    const { near, far } = await connect(wire);
    far.close();
    await clock.pass(10);
    assert.equal(await near.read(new Uint8Array(1)), null);
    await near.write(new Uint8Array(1));
    await clock.pass(10);
    await assert.rejects(near.write(new Uint8Array(1)), /reset by the peer/);
    near.close();
  }));

Deno.test("TcpStack answers a guessed reset with a question, an exact one with the end", () =>
  withWire(async (wire) => {
    const { clock, server, seen } = wire;
    const { near, far } = await connect(wire);
    const last = seen.findLast(({ flags }) => !(flags & SYN)) ?? assert.fail();
    const header = {
      sourcePort: last.sourcePort,
      destinationPort: last.destinationPort,
      ack: last.ack,
      flags: RST,
      window: 0,
    };
    seen.length = 0;
    server.receive(forge({ ...header, seq: (last.seq + 100) >>> 0 }));
    await clock.pass(5);
    assert.equal(seen.length, 1);
    assert.equal(seen[0]?.flags, ACK);
    const reading = assert.rejects(far.read(new Uint8Array(1)), /reset by the peer/);
    server.receive(forge({ ...header, seq: last.seq }));
    await reading;
    near.close();
    far.close();
  }));

Deno.test("TcpStack bounds connections of one peer, and forgets those never completed", () =>
  withWire(async (wire) => {
    const { clock, server } = wire;
    const listener = server.listen(80);
    wire.filter = () => false;
    for (let i = 0; i < 1000; i++) {
      const port = { sourcePort: 1000 + i, destinationPort: 80 };
      server.receive(forge({ ...port, seq: i, ack: 0, flags: SYN, window: 1000 }));
    }
    assert.equal(server.connectionCount, 256);
    await clock.pass(120_000);
    assert.equal(server.connectionCount, 0);
    listener.close();
  }));

Deno.test("dial() gives up when nobody answers, and stops when it is told to", () =>
  withWire(async (wire) => {
    const { clock, client } = wire;
    wire.filter = () => false;
    await assert.rejects(
      clock.until(client.dial(SERVER, 80), 120_000),
      (error) => codeOf(error) === "unavailable",
    );
    const stop = new AbortController();
    const dialing = client.dial(SERVER, 80, { signal: stop.signal });
    stop.abort();
    await assert.rejects(dialing, (error) => codeOf(error) === "cancelled");
    await assert.rejects(
      client.dial(SERVER, 80, { signal: stop.signal }),
      (error) => codeOf(error) === "cancelled",
    );
  }));

Deno.test("dropPeer() ends the connections with one peer", () =>
  withWire(async (wire) => {
    const { near, far } = await connect(wire);
    const reading = assert.rejects(far.read(new Uint8Array(1)), /does not answer/);
    wire.server.dropPeer(String.fromCharCode(0xfd00, 0, 0, 0, 0, 0, 0, 2));
    await reading;
    await wire.clock.pass(10);
    await assert.rejects(near.read(new Uint8Array(1)), /reset by the peer/);
    near.close();
    far.close();
  }));

Deno.test("listen() refuses a port that is taken or is none", () =>
  withWire(async ({ server }) => {
    const listener = server.listen(80);
    assert.throws(() => server.listen(80), (error) => codeOf(error) === "alreadyExists");
    assert.throws(() => server.listen(65_536), (error) => codeOf(error) === "invalidArgument");
    listener.close();
    server.listen(80).close();
    await Promise.resolve();
  }));
