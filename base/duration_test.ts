// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { parseDuration, printDuration } from "./duration.ts";

Deno.test("printDuration() prints what parseDuration() reads", () => {
  for (const text of ["1ns", "1.5µs", "20ms", "1.5s", "1m30s", "168h0m0s", "-5m0s", "0s"]) {
    assert.equal(printDuration(parseDuration(text) ?? NaN), text);
  }
});

Deno.test("parseDuration() reads nothing but durations", () => {
  for (const text of ["", "1", "-", "1.", ".s", "1h 2m", "1d", "s1", "1e3s", "++1s"]) {
    assert.equal(parseDuration(text), undefined, text);
  }
  assert.equal(parseDuration("+1.5h"), 5400);
  assert.equal(parseDuration("0"), 0);
});
