// SPDX-License-Identifier: AGPL-3.0-or-later

/** When datagrams are left to gather. @module */

import assert from "node:assert/strict";
import { Gathering } from "./udp_gathering.ts";

/** What a count of `perSecond`, over a second or more, says. */
function isWorthwhile(perSecond: number, seconds = 1): boolean {
  let nowMs = 5000;
  const gathering = new Gathering(() => nowMs);
  for (let i = 0; i < 10 * seconds; i++) {
    nowMs += 100;
    gathering.note(perSecond / 10);
  }
  return gathering.isWorthwhile;
}

Deno.test("a Gathering is worth it for thousands of idle machines", () => {
  // 10,000 machines: a keepalive each 25 s, a handshake each 120 s.
  assert.ok(isWorthwhile(480));
  assert.ok(isWorthwhile(480, 20));
});

Deno.test("a Gathering makes nobody wait where a few machines are, and lets no burst overflow", () => {
  assert.ok(!isWorthwhile(50));
  assert.ok(!isWorthwhile(20_000));
});

Deno.test("a Gathering goes by the last second, also when nothing came for long", () => {
  let nowMs = 0;
  const gathering = new Gathering(() => nowMs);
  nowMs += 1000;
  gathering.note(500);
  assert.ok(gathering.isWorthwhile);
  nowMs += 60_000;
  gathering.note(500);
  assert.ok(!gathering.isWorthwhile);
});

Deno.test("a Gathering's wait ends with its time, or when somebody is in a hurry", async () => {
  const short = new Gathering(() => 0, 1);
  const whole = short.wait();
  assert.ok(short.isWaiting);
  await whole;
  assert.ok(!short.isWaiting);

  const long = new Gathering(() => 0, 2 ** 30);
  const wait = long.wait();
  long.end();
  await wait;
  assert.ok(!long.isWaiting);
  // Nobody waits any more: nothing happens.
  long.end();
});
