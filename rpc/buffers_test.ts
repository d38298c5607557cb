// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { giveBuffer, takeBuffer, trimBuffers } from "./buffers.ts";

// A class that nothing else in this process uses.
const BYTES = 32 * 1024;

Deno.test("trimBuffers() lets go of what nobody took for a while, and of nothing else", () => {
  const buffers = [takeBuffer(BYTES), takeBuffer(BYTES)];
  const [first, second] = buffers as [Uint8Array, Uint8Array];
  giveBuffer(first);
  giveBuffer(second);
  const startMs = performance.now() + 10_000;
  // They came back since the last time, so they stay for now; within the time nothing happens.
  trimBuffers(startMs);
  trimBuffers(startMs + 10);
  const taken = takeBuffer(BYTES);
  assert.equal(taken, second);
  giveBuffer(taken);
  trimBuffers(startMs + 5000);
  assert.equal(takeBuffer(BYTES), second);
  assert.notEqual(takeBuffer(BYTES), first);
});
