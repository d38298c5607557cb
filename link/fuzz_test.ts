// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Random and mutated packets for everything that the network reaches below the messages.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ipv6Bytes, secureRandom } from "./addresses.ts";
import { echoReply } from "./net/icmpv6.ts";
import { checksum, IPV6_HEADER_SIZE, PROTOCOL_TCP } from "./net/ipv6.ts";
import { parseTcp } from "./net/tcp_segment.ts";
import { TcpStack } from "./net/tcp_stack.ts";
import { virtualClock } from "./testing_network.ts";
import { feed, INPUTS, mutate, randomOf, SEED } from "./testing_fuzz.ts";
import { TimerQueue } from "./timers.ts";
import { parseEndpoint } from "./udp.ts";
import { WireguardCore } from "./wireguard/core.ts";
import { localIdentity } from "./wireguard/handshake.ts";
import { messageType } from "./wireguard/messages.ts";

const ADDRESS = ipv6Bytes("fdae:41e4:649b:9303::1");
const PEER = ipv6Bytes("fdae:41e4:649b:9303::5");

function setChecksum(packet: Uint8Array): void {
  packet[IPV6_HEADER_SIZE + 16] = packet[IPV6_HEADER_SIZE + 17] = 0;
  const sum = checksum(packet);
  packet[IPV6_HEADER_SIZE + 16] = sum >> 8;
  packet[IPV6_HEADER_SIZE + 17] = sum & 0xff;
}

Deno.test(`parsers take any bytes (seed ${SEED})`, async () => {
  const source = randomOf(SEED);
  await feed(INPUTS, () => {
    const packet = source.bytes(source.below(160));
    if (packet.length > IPV6_HEADER_SIZE + 14 && source.below(2) === 0) {
      packet[6] = PROTOCOL_TCP;
      packet[IPV6_HEADER_SIZE + 12] = (5 + source.below(11)) << 4;
    }
    parseTcp(packet);
    echoReply(packet);
    messageType(packet);
  });
});

Deno.test(`parseEndpoint() refuses or reads back any text (seed ${SEED})`, async () => {
  const source = randomOf(SEED);
  const alphabet = "0123456789abcdef:.[]%x ";
  await feed(INPUTS, () => {
    const length = source.below(30);
    const text = Array.from({ length }, () => alphabet[source.below(alphabet.length)]).join("");
    try {
      assert.ok(parseEndpoint(text).port > 0);
    } catch (error) {
      assert.match(String(error), /Cannot read endpoint/);
    }
  });
});

Deno.test(`WireguardCore takes any datagrams (seed ${SEED})`, async () => {
  const source = randomOf(SEED);
  const clock = virtualClock();
  const timers = new TimerQueue(clock);
  const deferred: (() => void)[] = [];
  let sent = 0;
  const core = new WireguardCore({
    identity: localIdentity(secureRandom(32)),
    address: ADDRESS,
    timers,
    nowMs: () => clock.nowMs(),
    wallMs: () => clock.nowMs(),
    random: source.bytes,
    send: () => sent++,
    deliver: () => assert.fail("Nobody holds a key"),
    defer: (run) => deferred.push(run),
  });
  const sizes = [32, 64, 92, 148, 148];
  await feed(INPUTS, () => {
    const size = sizes[source.below(8)] ?? source.below(200);
    const datagram = source.bytes(size);
    if (size > 4 && source.below(4) > 0) datagram.set([1 + source.below(4), 0, 0, 0]);
    core.receive(datagram, { hostname: "h", port: 1 });
    for (const run of deferred.splice(0)) run();
  });
  assert.equal(sent, 0);
  assert.equal(core.counters.refusedPackets, 0);
  timers.close();
});

Deno.test(`TcpStack takes mutated segments of its own connections (seed ${SEED})`, async () => {
  const source = randomOf(SEED);
  const clock = virtualClock();
  const timers = new TimerQueue(clock);
  const outbox: Uint8Array[] = [];
  const make = (address: Uint8Array): TcpStack =>
    new TcpStack({
      address,
      timers,
      nowMs: () => clock.nowMs(),
      random: secureRandom,
      defer: (run) => run(),
      send: (packet) => outbox.push(packet.slice()) > 0,
    });
  const server = make(ADDRESS);
  const client = make(PEER);
  const pass = (count: number, isMutated: boolean): void => {
    for (let i = 0; i < count; i++) {
      const packet = outbox.shift();
      if (packet === undefined) return;
      const toServer = packet[39] === 1;
      if (isMutated) {
        const copy = Uint8Array.from(packet);
        mutate(copy, IPV6_HEADER_SIZE, source);
        setChecksum(copy);
        (toServer ? server : client).receive(copy);
      }
      (toServer ? server : client).receive(packet);
    }
  };
  const listener = server.listen(80);
  for (let done = 0; done < INPUTS / 5;) {
    const accepting = listener[Symbol.asyncIterator]().next().then(({ done, value }) => {
      assert.ok(!done);
      return value.stream;
    });
    const dialing = client.dial(ADDRESS, 80);
    pass(10, false);
    const stream = await dialing;
    const incoming = await accepting;
    const sink = new Uint8Array(4096);
    for (let i = 0; i < 100; i++, done++) {
      // A mutated reset may end the connection, which is what resets are for.
      stream.write(source.bytes(source.below(3000))).catch(() => {});
      if (incoming.available > 0) await incoming.read(sink).catch(() => {});
      pass(20, true);
      if (i % 20 === 0) await clock.pass(source.below(1500));
    }
    stream.close();
    incoming.close();
    await clock.pass(120_000);
    while (outbox.length > 0) pass(100, false);
    await clock.pass(120_000);
    outbox.length = 0;
  }
  await clock.pass(600_000);
  listener.close();
  server.close();
  client.close();
  assert.equal(server.connectionCount, 0);
  assert.equal(server.memoryBytes + client.memoryBytes, 0);
  timers.close();
});
