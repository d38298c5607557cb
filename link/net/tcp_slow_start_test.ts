// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { SlowStart } from "./tcp_slow_start.ts";

/** A round of acknowledgements, one number each, all with one round trip; whether it is over. */
function round(slowStart: SlowStart, index: number, rttMs: number, count = 20): boolean {
  let isOver = false;
  for (let i = 1; i <= count; i++) {
    const ack = index * 1000 + i;
    isOver = slowStart.noteAck(ack, (index + 1) * 1000, rttMs) || isOver;
  }
  return isOver;
}

Deno.test("SlowStart grows at a quarter once the round trip does, and ends five rounds later", () => {
  const slowStart = new SlowStart();
  for (let i = 0; i < 5; i++) assert.equal(round(slowStart, i, 40), false);
  assert.equal(slowStart.divisor, 1);
  // An eighth of 40 ms is the threshold.
  round(slowStart, 5, 44.9);
  assert.equal(slowStart.divisor, 1);
  round(slowStart, 6, 51);
  assert.equal(slowStart.divisor, 4);
  for (let i = 7; i < 12; i++) assert.equal(round(slowStart, i, 51), false, `round ${i}`);
  assert.equal(round(slowStart, 12, 51), true);
});

Deno.test("SlowStart goes on when the round trip shrinks again", () => {
  const slowStart = new SlowStart();
  round(slowStart, 0, 40);
  round(slowStart, 1, 50);
  assert.equal(slowStart.divisor, 4);
  round(slowStart, 2, 45);
  assert.equal(slowStart.divisor, 1);
});

Deno.test("SlowStart does not judge by a few acknowledgements", () => {
  const slowStart = new SlowStart();
  round(slowStart, 0, 40);
  round(slowStart, 1, 90, 7);
  assert.equal(slowStart.divisor, 1);
  round(slowStart, 2, 90, 8);
  assert.equal(slowStart.divisor, 1, "the round before is what counts");
});
