// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { seededRandom } from "../testing.ts";
import { isLater, readCounter, REJECT_AFTER_MESSAGES, tai64n } from "./messages.ts";
import { writeCounter } from "./primitives.ts";
import { ReplayWindow, Session } from "./session.ts";

function pair(): { readonly sender: Session; readonly receiver: Session } {
  const [a, b] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const keys = { remoteIndex: 7, sendKey: a, receiveKey: b };
  return {
    sender: new Session(1, true, 0, keys),
    receiver: new Session(7, false, 0, {
      remoteIndex: 1,
      sendKey: b.slice(),
      receiveKey: a.slice(),
    }),
  };
}

Deno.test("ReplayWindow accepts each number once and none that is too old", () => {
  const random = seededRandom(9);
  const window = new ReplayWindow();
  const seen = new Set<number>();
  let highest = -1;
  let base = 0;
  for (let i = 0; i < 20_000; i++) {
    if (random() < 0.001) base += 5000;
    const counter = Math.max(0, base + Math.floor(i / 4 + random() * 600 - 300));
    const isTooOld = highest - counter >= 2016;
    assert.equal(window.accept(counter), !isTooOld && !seen.has(counter), `number ${counter}`);
    seen.add(counter);
    highest = Math.max(highest, counter);
  }
});

Deno.test("Session opens what the other side sealed, padded, once", () => {
  const { sender, receiver } = pair();
  for (const size of [0, 1, 15, 16, 17, 1279, 1280]) {
    const message = sender.seal(new Uint8Array(size).fill(9));
    assert.equal(message.length % 16, 0);
    const plain = receiver.open(message);
    assert.ok(plain !== undefined && plain.length >= size && plain.length - size < 16);
    assert.ok(plain.subarray(0, size).every((byte) => byte === 9));
    assert.equal(receiver.open(message), undefined);
  }
});

Deno.test("Session refuses a message that was changed, and its number stays free", () => {
  const { sender, receiver } = pair();
  const message = sender.seal(new Uint8Array(64));
  const forged = Uint8Array.from(message);
  forged[40] = (forged[40] ?? 0) ^ 1;
  assert.equal(receiver.open(forged), undefined);
  assert.ok(receiver.open(message) !== undefined);
});

Deno.test("Session counts above 32 bits and stops before numbers are used up", () => {
  const { sender, receiver } = pair();
  sender.sendCounter = 2 ** 40 + 3;
  assert.equal(readCounter(sender.seal(new Uint8Array(0)), 8), 2 ** 40 + 3);
  sender.sendCounter = REJECT_AFTER_MESSAGES - 1;
  assert.ok(sender.isUsable(0));
  const last = sender.seal(new Uint8Array(0));
  assert.equal(sender.isUsable(0), false);
  assert.ok(receiver.open(last) !== undefined);
  writeCounter(last, 8, REJECT_AFTER_MESSAGES);
  assert.equal(receiver.open(last), undefined);
  last.fill(0xff, 8, 16);
  assert.equal(receiver.open(last), undefined);
});

Deno.test("Session is unusable 180 s after it was made, and once it is erased", () => {
  const { sender } = pair();
  assert.ok(sender.isUsable(179_999));
  assert.equal(sender.isUsable(180_000), false);
  sender.erase();
  assert.equal(sender.isUsable(0), false);
});

Deno.test("tai64n() grows with time", () => {
  const first = tai64n(1_700_000_000_000.25);
  assert.equal(first[0], 0x40);
  assert.ok(isLater(tai64n(1_700_000_000_000.5), first));
  assert.ok(isLater(tai64n(1_700_000_000_001), first));
  assert.ok(!isLater(first, first));
});
