// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Damaged copies of genuine WireGuard messages, and hostile packets inside genuine ones.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DESTINATION_OFFSET, IPV6_HEADER_SIZE, SOURCE_OFFSET } from "../net/ipv6.ts";
import { damaged, feed, INPUTS, mutate, type Random, randomOf, SEED } from "../testing_fuzz.ts";
import { MacWriter } from "./cookies.ts";
import { INITIATION, messageType, RESPONSE } from "./messages.ts";
import { type End, markers, packet, send, withLine } from "./testing.ts";

/** Damaged copies of each genuine message, which come before it. */
const COPIES = 5;
/** A new handshake is begun after so many exchanges. */
const EXCHANGES = 50;

/**
 * A damaged copy; a handshake's MACs are made anew half of the time, which anybody can do who knows
 * the receiver's public key. What stands before its first key is left alone then: nothing protects
 * it, and whoever sits on the path can break a handshake by it as by dropping it.
 */
function copyOf(datagram: Uint8Array, receiver: End, random: Random): Uint8Array {
  const type = messageType(datagram);
  const isHandshake = type === INITIATION || type === RESPONSE;
  if (!isHandshake || random.below(2) === 0) return damaged(datagram, random);
  const copy = Uint8Array.from(datagram);
  mutate(copy, type === INITIATION ? 8 : 12, random);
  new MacWriter(receiver.publicKey).write(copy, 0);
  return copy;
}

Deno.test(`WireguardCore refuses damaged copies and takes what is genuine (seed ${SEED})`, () =>
  withLine(async (line) => {
    const random = randomOf(SEED);
    const { clock, a, b } = line;
    line.filter = (datagram, sender) => {
      const receiver = sender === "a" ? b : a;
      const source = { hostname: sender, port: sender === "a" ? a.port : b.port };
      for (let i = 0; i < COPIES; i++) {
        receiver.core.receive(copyOf(datagram, receiver, random), source);
      }
      line.forget();
      return true;
    };
    send(a, b);
    await clock.pass(10);
    markers(b);
    await feed(Math.ceil(INPUTS / (2 * COPIES)), async (i) => {
      send(a, b, i % 250);
      send(b, a, (i + 1) % 250);
      if (i % EXCHANGES === 0) a.core.sendInitiation(a.peer);
      await clock.pass(30);
      assert.deepEqual([markers(b), markers(a)], [[i % 250], [(i + 1) % 250]]);
    });
    assert.equal(a.core.counters.refusedPackets + b.core.counters.refusedPackets, 0);
    assert.ok(b.core.counters.refusedTransports > 0 && b.core.counters.refusedHandshakes > 0);
  }));

Deno.test(`WireguardCore delivers only packets from a peer's own address (seed ${SEED})`, () =>
  withLine(async ({ clock, a, b, forget }) => {
    const random = randomOf(SEED);
    send(a, b);
    await clock.pass(10);
    markers(b);
    let delivered = 0;
    await feed(INPUTS, async (i) => {
      const genuine = packet(a, b, 1, IPV6_HEADER_SIZE + 1 + random.below(100));
      a.core.sendPacket(damaged(genuine, random), b.addressKey);
      if (i % 20 > 0) return;
      await clock.pass(1);
      forget();
      for (const bytes of b.delivered.splice(0)) {
        assert.deepEqual(bytes.subarray(SOURCE_OFFSET, DESTINATION_OFFSET), a.address);
        assert.deepEqual(bytes.subarray(DESTINATION_OFFSET, IPV6_HEADER_SIZE), b.address);
        assert.equal(bytes.length, IPV6_HEADER_SIZE + (bytes[4] ?? 0) * 256 + (bytes[5] ?? 0));
        delivered++;
      }
    });
    assert.ok(delivered > 0 && b.core.counters.refusedPackets > 0);
  }));
