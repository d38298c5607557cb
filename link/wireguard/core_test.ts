// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { secureRandom } from "../addresses.ts";
import { localIdentity } from "./handshake.ts";
import { INITIATION } from "./messages.ts";
import { markers, packet, send, withLine } from "./testing.ts";

Deno.test("WireguardCore keeps packets until the handshake is done", () =>
  withLine(async ({ clock, a, b, log }) => {
    for (let i = 0; i < 5; i++) send(a, b, i);
    await clock.pass(1);
    assert.deepEqual(log.slice(0, 3), ["a initiation", "b response", "a data"]);
    assert.deepEqual(markers(b), [0, 1, 2, 3, 4]);
    send(b, a, 9);
    await clock.pass(1);
    assert.deepEqual(markers(a), [9]);
    assert.ok(b.peer.lastHandshakeMs > 0);
  }));

Deno.test("WireguardCore is quiet while nothing but handshakes and keepalives passes", () =>
  withLine(async ({ clock, a, b }) => {
    assert.ok(a.core.isQuiet && b.core.isQuiet);
    a.core.sendInitiation(a.peer);
    await clock.pass(100);
    assert.ok(b.peer.lastHandshakeMs > 0);
    assert.ok(a.core.isQuiet && b.core.isQuiet);
    send(a, b);
    await clock.pass(100);
    assert.ok(!a.core.isQuiet && !b.core.isQuiet);
    await clock.pass(200);
    assert.ok(a.core.isQuiet && b.core.isQuiet);
  }));

Deno.test("WireguardCore is not quiet while data waits for a handshake", () =>
  withLine(({ a, b }) => {
    send(a, b);
    assert.ok(!a.core.isQuiet);
    return Promise.resolve();
  }));

Deno.test("WireguardCore is not quiet while it goes to peers after a restart", () =>
  withLine(async ({ clock, a, b }) => {
    a.core.wakePeer(a.peer);
    assert.ok(!a.core.isQuiet);
    await clock.pass(100);
    assert.ok(b.peer.lastHandshakeMs > 0);
    assert.ok(a.core.isQuiet);
  }));

Deno.test("WireguardCore drops packets with a foreign source or destination", () =>
  withLine(async ({ clock, a, b }) => {
    const foreign = packet(a, b, 1);
    foreign[23] = 0x77;
    const elsewhere = packet(a, b, 2);
    elsewhere[39] = 0x77;
    const short = packet(a, b, 3);
    short[5] = 200;
    const old = packet(a, b, 4);
    old[0] = 0x45;
    for (const bytes of [foreign, elsewhere, short, old, packet(a, b, 5)]) {
      a.core.sendPacket(bytes, b.addressKey);
    }
    await clock.pass(1);
    assert.deepEqual(markers(b), [5]);
    assert.equal(b.core.counters.refusedPackets, 4);
  }));

Deno.test("WireguardCore makes new keys after 120 s, as long as data is sent", () =>
  withLine(async ({ clock, a, b, log, forget }) => {
    send(a, b);
    await clock.pass(110_000);
    forget();
    send(a, b);
    await clock.pass(1000);
    assert.ok(!log.includes("a initiation"));
    await clock.pass(10_000);
    send(a, b);
    await clock.pass(100);
    assert.ok(log.includes("a initiation"));
    // The old keys go on being used by what is on its way, the new ones by all that follows.
    markers(b);
    send(b, a, 1);
    send(a, b, 2);
    await clock.pass(1);
    assert.deepEqual([markers(a), markers(b)], [[1], [2]]);
  }));

Deno.test("WireguardCore, as the initiator, makes new keys when it only receives", () =>
  withLine(async ({ clock, a, b, log, forget }) => {
    send(a, b);
    await clock.pass(166_000);
    forget();
    send(b, a, 1);
    await clock.pass(1);
    assert.deepEqual(log.slice(0, 2), ["b data", "a initiation"]);
  }));

Deno.test("WireguardCore refuses keys after 180 s", () =>
  withLine(async ({ clock, a, b, log, forget }) => {
    send(a, b);
    await clock.pass(181_000);
    forget();
    send(b, a, 7);
    await clock.pass(1000);
    // The responder knows by then where the initiator is and begins a handshake itself.
    assert.deepEqual(log.slice(0, 3), ["b initiation", "a response", "b data"]);
    assert.deepEqual(markers(a), [7]);
  }));

Deno.test("WireguardCore tries a handshake every 5 s for 90 s, then waits for new data", () =>
  withLine(async (line) => {
    const { clock, a, b, log, forget } = line;
    line.filter = () => false;
    send(a, b);
    await clock.pass(300_000);
    assert.equal(log.length, 19);
    assert.equal(a.peer.waiting.length, 0);
    forget();
    line.filter = () => true;
    send(a, b, 3);
    await clock.pass(10);
    assert.deepEqual(markers(b), [3]);
  }));

Deno.test("WireguardCore answers data that nothing answers after 10 s, once", () =>
  withLine(async ({ clock, a, b, log, forget }) => {
    send(a, b);
    await clock.pass(30_000);
    forget();
    send(a, b);
    await clock.pass(60_000);
    assert.deepEqual(log, ["a data", "b keepalive"]);
  }));

Deno.test("WireguardCore begins a handshake when data is not answered for 15 s", () =>
  withLine(async (line) => {
    const { clock, a, b, log, forget } = line;
    send(a, b);
    await clock.pass(20_000);
    forget();
    line.filter = (_, sender) => sender === "a";
    send(a, b);
    await clock.pass(15_400);
    assert.deepEqual(log.filter((entry) => entry !== "b keepalive"), [
      "a data",
      "a initiation",
      "b response",
    ]);
  }));

Deno.test("WireguardCore sends persistent keepalives and brings the tunnel up by them", () =>
  withLine(async ({ clock, a, log }) => {
    a.peer.setKeepalive(25_000);
    await clock.pass(101_000);
    assert.deepEqual(log.slice(0, 3), ["a initiation", "b response", "a keepalive"]);
    assert.equal(log.filter((entry) => entry === "a keepalive").length, 5);
  }));

Deno.test("WireguardCore makes new keys after 120 s of nothing but keepalives", () =>
  withLine(async ({ clock, a, log }) => {
    a.peer.setKeepalive(25_000);
    await clock.pass(1);
    const handshakes = (): number => log.filter((entry) => entry === "b response").length;
    assert.equal(handshakes(), 1);
    await clock.pass(124_000);
    assert.equal(handshakes(), 1);
    await clock.pass(2000);
    assert.equal(handshakes(), 2);
    await clock.pass(250_000);
    assert.equal(handshakes(), 4);
  }));

Deno.test("WireguardCore forgets all keys 540 s after the last handshake", () =>
  withLine(async ({ clock, a, b }) => {
    send(a, b);
    await clock.pass(530_000);
    assert.ok(a.peer.current !== undefined);
    await clock.pass(11_000);
    assert.equal(a.peer.current, undefined);
    assert.equal(b.peer.current, undefined);
  }));

Deno.test("WireguardCore follows a peer to another address", () =>
  withLine(async ({ clock, a, b }) => {
    send(a, b);
    await clock.pass(1);
    b.core.receive(new Uint8Array(100), { hostname: "evil", port: 1 });
    assert.deepEqual(b.peer.endpoint, { hostname: "a", port: a.port });
    const captured: Uint8Array[] = [];
    const session = a.peer.current;
    assert.ok(session !== undefined);
    captured.push(session.seal(packet(a, b, 8)));
    b.core.receive(captured[0] as Uint8Array, { hostname: "elsewhere", port: 77 });
    assert.deepEqual(b.peer.endpoint, { hostname: "elsewhere", port: 77 });
    // The same message from a third place is a replay and moves nothing.
    b.core.receive(captured[0] as Uint8Array, { hostname: "evil", port: 1 });
    assert.deepEqual(b.peer.endpoint, { hostname: "elsewhere", port: 77 });
  }));

Deno.test("WireguardCore refuses an initiation that comes again", () =>
  withLine(async (line) => {
    const { clock, a, b } = line;
    let initiation: Uint8Array | undefined;
    line.filter = (datagram) => {
      if (datagram[0] === INITIATION) initiation ??= Uint8Array.from(datagram);
      return true;
    };
    send(a, b);
    await clock.pass(1000);
    assert.ok(initiation !== undefined);
    const before = b.core.counters.refusedHandshakes;
    b.core.receive(initiation, { hostname: "evil", port: 5 });
    await clock.pass(1000);
    assert.equal(b.core.counters.refusedHandshakes, before + 1);
    assert.deepEqual(b.peer.endpoint, { hostname: "a", port: a.port });
  }));

Deno.test("WireguardCore survives handshakes that cross", () =>
  withLine(async ({ clock, a, b }) => {
    b.peer.endpoint = { hostname: "a", port: a.port };
    send(a, b, 1);
    send(b, a, 2);
    await clock.pass(100);
    assert.deepEqual([markers(a), markers(b)], [[2], [1]]);
    for (let i = 0; i < 10; i++) {
      send(a, b, i);
      send(b, a, i);
    }
    await clock.pass(100);
    assert.equal(markers(a).length, 10);
    assert.equal(markers(b).length, 10);
  }));

Deno.test("WireguardCore forgets a peer that is removed, and one whose address or key returns", () =>
  withLine(async ({ clock, a, b }) => {
    send(a, b);
    await clock.pass(1);
    b.core.removePeer(b.peer);
    markers(b);
    send(a, b, 1);
    await clock.pass(1);
    assert.deepEqual(markers(b), []);
    assert.equal(b.core.sendPacket(packet(b, a, 1), a.addressKey), false);
    const again = b.core.addPeer(a.publicKey, a.address);
    const replaced = b.core.addPeer(secureRandomKey(), a.address);
    assert.ok(again?.isRemoved && replaced !== undefined);
  }));

function secureRandomKey(): Uint8Array {
  return localIdentity(secureRandom(32)).publicKey;
}
