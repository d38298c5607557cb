// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { Pacer } from "./pacer.ts";

Deno.test("Pacer.pause() lets work go on while its slice lasts", () => {
  strictEqual(new Pacer(Number.POSITIVE_INFINITY).pause(), undefined);
});

Deno.test("Pacer.pause() makes everybody wait for the same turn once the slice is over", async () => {
  const pacer = new Pacer(0);
  const first = pacer.pause();
  strictEqual(first instanceof Promise, true);
  strictEqual(pacer.pause(), first);
  await first;
  const second = pacer.pause();
  strictEqual(second === first, false);
  await second;
});
