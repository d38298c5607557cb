// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { simulateUntil } from "./simulate.ts";
import { simulate } from "./simulation.ts";

/** What the gate spends on it; `deno task simulate --minutes N` goes on for longer. */
const BUDGET_MS = 8_000;

Deno.test("simulate() repeats a run exactly by its seed", async () => {
  const first = await simulate(4711, 60);
  const second = await simulate(4711, 60);
  deepStrictEqual(first, second);
  ok(first.trace.length > 100);
});

Deno.test("the engine converges after any sequence of changes, faults and crashes", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  // Said beforehand, so that a hang can be replayed too.
  print(`simulation from seed ${seed}`);
  const { runs, failure } = await simulateUntil(seed, performance.now() + BUDGET_MS);
  print(`simulation made ${runs} runs`);
  strictEqual(failure, undefined);
});

function print(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}
