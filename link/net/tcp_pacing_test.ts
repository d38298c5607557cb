// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { Pacing } from "./tcp_pacing.ts";

/** How many segments of 1,000 bytes go out in a time, looked at every ms. */
function count(windowBytes: number, isSlowStart: boolean, rttMs: number, forMs: number): number {
  const pacing = new Pacing();
  let sent = 0;
  for (let nowMs = 1000; nowMs < 1000 + forMs; nowMs++) {
    while (!pacing.isHeld(nowMs) && sent < 1e5) {
      pacing.sent(1000, windowBytes, isSlowStart, rttMs, nowMs);
      sent++;
    }
  }
  return sent;
}

Deno.test("Pacing spreads a window over a round trip, twice as fast in slow start", () => {
  const few = count(100_000, false, 100, 100);
  assert.ok(few >= 118 && few <= 126, `${few}`);
  const many = count(100_000, true, 100, 100);
  assert.ok(many >= 198 && many <= 212, `${many}`);
});

Deno.test("Pacing leaves short paths alone, and holds nothing back for longer than a round trip", () => {
  assert.equal(count(100_000, false, 9, 1), 1e5);
  const pacing = new Pacing();
  pacing.sent(1000, 1, false, 100, 1000);
  assert.ok(!pacing.isHeld(1101));
  pacing.sent(1000, 1, false, 100, 1101);
  assert.ok(pacing.isHeld(1102));
  pacing.reset();
  assert.ok(!pacing.isHeld(1102));
});
