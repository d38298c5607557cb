// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { compareKeys } from "./yaml_keys.ts";

Deno.test("compareKeys() counts digits", () => {
  const keys = ["a10", "a9", "a", "B", "a01", "10", "9", "_", "ä"];
  assert.deepEqual(keys.sort(compareKeys), ["_", "9", "10", "B", "a", "a01", "a9", "a10", "ä"]);
});
