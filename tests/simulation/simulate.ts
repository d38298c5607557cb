// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs simulations from the command line.
 *
 * Usage: `simulate.ts [--minutes N] [--seed S] [--steps N]`. A seed replays one run and prints what
 * happened; without one, runs of new seeds follow each other until the time is over (one minute by
 * default) or one of them fails.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { simulate } from "./simulation.ts";

/** Runs seeds from `firstSeed` on until `deadlineMs` on the monotonic clock; the first that fails. */
export async function simulateUntil(
  firstSeed: number,
  deadlineMs: number,
  steps?: number,
): Promise<{ readonly runs: number; readonly failure: string | undefined }> {
  let runs = 0;
  for (let seed = firstSeed; performance.now() < deadlineMs; seed++) {
    const { problems } = await simulate(seed, steps);
    runs += 1;
    if (problems.length > 0) {
      const length = steps === undefined ? "" : ` --steps ${steps}`;
      const replay = `replay: deno task simulate --seed ${seed}${length}`;
      return {
        runs,
        failure: `Simulation of seed ${seed} failed (${replay}): ${problems.join("; ")}`,
      };
    }
  }
  return { runs, failure: undefined };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "1" },
      seed: { type: "string" },
      steps: { type: "string", default: "150" },
    },
  });
  const steps = Number(values.steps);
  if (values.seed !== undefined) {
    const { problems, trace } = await simulate(Number(values.seed), steps);
    for (const line of [...trace, ...problems.map((problem) => `PROBLEM ${problem}`)]) {
      print(line);
    }
    return problems.length === 0 ? 0 : 1;
  }
  const firstSeed = Math.floor(Math.random() * 2 ** 31);
  print(`first seed ${firstSeed}`);
  const endMs = performance.now() + Number(values.minutes) * 60_000;
  const { runs, failure } = await simulateUntil(firstSeed, endMs, steps);
  print(failure ?? `${runs} runs, all well`);
  return failure === undefined ? 0 : 1;
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) Deno.exit(await main());
