// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual, throws } from "node:assert/strict";
import { Flood, FloodGuard } from "./flood_guard.ts";
import { ConnectionFault } from "./frames.ts";

const HOUR_MS = 3_600_000;
const LIMIT = 1000;

/** How many resets a guard takes until it ends the connection. */
function resetsUntilFault(guard: FloodGuard): number {
  for (let count = 0; count <= 10 * LIMIT; count++) {
    try {
      guard.count(Flood.Reset);
    } catch (error) {
      if (error instanceof ConnectionFault) return count;
      throw error;
    }
  }
  return Infinity;
}

function createGuard(nowMs: () => number): FloodGuard {
  return new FloodGuard([LIMIT, LIMIT, LIMIT, LIMIT, LIMIT, LIMIT], nowMs);
}

Deno.test("FloodGuard allows no more than the limit, however long the process runs", () => {
  strictEqual(resetsUntilFault(createGuard(() => HOUR_MS)), LIMIT);
});

Deno.test("FloodGuard allows hardly more than the limit on an old connection", () => {
  let nowMs = 0;
  const guard = createGuard(() => nowMs);
  nowMs = HOUR_MS;
  const count = resetsUntilFault(guard);
  strictEqual(count >= LIMIT && count < LIMIT + 64, true, `${count} resets`);
});

Deno.test("FloodGuard starts anew after ten seconds", () => {
  let nowMs = 0;
  const guard = createGuard(() => nowMs);
  for (let period = 0; period < 5; period++) {
    for (let count = 0; count < LIMIT; count++) guard.count(Flood.Ping);
    nowMs += 10_001;
  }
  nowMs += 1;
  for (let count = 0; count < LIMIT; count++) guard.count(Flood.Ping);
  throws(() => {
    for (let count = 0; count < 64; count++) guard.count(Flood.Ping);
  }, ConnectionFault);
});
