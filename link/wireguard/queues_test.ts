// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { COOKIE_REPLY, messageType, RESPONSE } from "./messages.ts";
import { type Line, send, withLine } from "./testing.ts";

Deno.test("WireguardCore asks for proof of address when it is overloaded, and takes it", () =>
  withLine(async (line) => {
    const { clock, a, b, log } = line;
    const sent: Uint8Array[] = [];
    line.filter = (datagram) => {
      sent.push(Uint8Array.from(datagram));
      return false;
    };
    const initiate = (): Uint8Array => {
      a.core.sendInitiation(a.peer);
      return sent.pop() ?? assert.fail();
    };
    const source = { hostname: "a", port: a.port };
    line.isHeld = true;
    // More initiations with a valid first MAC than the queue holds, in one moment.
    const flood = initiate();
    for (let i = 0; i < 8192; i++) b.core.receive(flood, { hostname: "flood", port: i });
    line.forget();
    const unproven = initiate();
    b.core.receive(unproven, source);
    const cookie = sent.pop() ?? assert.fail();
    assert.deepEqual(log, ["a initiation", "b cookie"]);
    a.core.receive(cookie, { hostname: "b", port: b.port });
    await clock.pass(1);
    const proven = initiate();
    assert.ok(proven.subarray(132).some((byte) => byte !== 0));
    // From another address the proof is worth nothing.
    b.core.receive(proven, { hostname: "evil", port: 1 });
    assert.equal(messageType(sent.pop() ?? assert.fail()), COOKIE_REPLY);
    b.core.receive(proven, source);
    b.core.workOff(1);
    assert.equal(messageType(sent.pop() ?? assert.fail()), RESPONSE);
  }));

const REMEMBERED: Readonly<Record<string, (line: Line) => void>> = {
  "goes to": ({ b }) => b.core.wakePeer(b.peer),
  "answered": ({ a, b }) => send(a, b),
  "was answered by": ({ a, b }) => send(b, a),
};

for (const [what, meet] of Object.entries(REMEMBERED)) {
  Deno.test(`WireguardCore sets hosts that it ${what} where they were before strangers`, () =>
    withLine(async (line) => {
      const { clock, a, b } = line;
      b.peer.endpoint = { hostname: "a", port: a.port };
      meet(line);
      if (what !== "goes to") await clock.pass(1);
      const sent: Uint8Array[] = [];
      line.filter = (datagram) => {
        sent.push(Uint8Array.from(datagram));
        return false;
      };
      line.isHeld = true;
      a.core.sendInitiation(a.peer);
      const flood = sent.pop() ?? assert.fail();
      // The first fill the queue; the others use up what strangers are answered.
      for (let i = 0; i < 8192 + 200; i++) b.core.receive(flood, { hostname: "flood", port: i });
      sent.length = 0;
      b.core.receive(flood, { hostname: "flood", port: 1 });
      assert.equal(sent.length, 0);
      b.core.receive(flood, { hostname: "a", port: a.port });
      assert.equal(messageType(sent.pop() ?? assert.fail()), COOKIE_REPLY);
    }));
}

Deno.test("WireguardCore asks a peer from before a restart once more when its answer is lost", () =>
  withLine(async (line) => {
    const { clock, a, b, log } = line;
    let lost = 1;
    line.filter = (datagram) => messageType(datagram) !== RESPONSE || lost-- <= 0;
    a.core.wakePeer(a.peer);
    await clock.pass(1900);
    assert.deepEqual(log, ["a initiation", "b response"]);
    await clock.pass(300);
    assert.ok(a.peer.current !== undefined && b.peer.current !== undefined);
  }));

Deno.test("WireguardCore asks a peer from before a restart twice before the usual time", () =>
  withLine(async (line) => {
    line.filter = () => false;
    line.a.core.wakePeer(line.a.peer);
    await line.clock.pass(6500);
    assert.equal(line.log.length, 2);
    await line.clock.pass(1000);
    assert.equal(line.log.length, 3);
  }));
