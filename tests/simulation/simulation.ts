// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One simulated life of the engine, repeatable by its seed.
 *
 * Users, strangers, faults and crashes at random; then peace, after which the state must be exactly
 * what its inputs demand, nothing may be left over, and another look may change nothing.
 *
 * @module
 */

import { actAtRandom, letGo } from "./users.ts";
import { findDifferences } from "./verify.ts";
import { World } from "./world.ts";

/** How one run ended. */
export interface SimulationResult {
  readonly seed: number;
  /** What went against the contract; empty when all is well. */
  readonly problems: readonly string[];
  /** Everything that happened, a line each. */
  readonly trace: readonly string[];
}

const FAULT_RATES = [0, 0, 0.02, 0.1, 0.3] as const;
/** Virtual time in which everything must have come to rest: many times the longest back-off. */
const REST_MS = 240_000;

/** Runs one seed. */
export async function simulate(seed: number, steps = 150): Promise<SimulationResult> {
  const world = await World.open(seed);
  try {
    world.start();
    for (let step = 0; step < steps; step++) await live(world);
    const problems = await rest(world);
    return { seed, problems: [...world.violations, ...problems], trace: world.trace };
  } finally {
    await world.close();
  }
}

async function live(world: World): Promise<void> {
  const { chance, clock } = world;
  if (chance.happens(0.05)) {
    world.faultRate = chance.pick(FAULT_RATES);
    world.note(`faults ${world.faultRate}`);
  }
  if (chance.happens(0.04)) {
    const crash = chance.happens(0.7);
    world.note(crash ? "crash" : "stop");
    await world.stop(crash);
  }
  if (chance.happens(0.3)) world.start();
  await actAtRandom(world);
  await clock.advance(chance.happens(0.1) ? chance.below(3_000) : chance.below(15));
}

/** Lets the world come to rest and compares it with what it should be. */
async function rest(world: World): Promise<string[]> {
  world.note("rest");
  world.faultRate = 0;
  world.start();
  await world.clock.advance(100);
  await letGo(world);
  await world.clock.advance(REST_MS);
  const problems = await findDifferences(world);
  if (problems.length > 0) return problems;
  const writes = world.writes;
  await world.stop(false);
  world.start();
  await world.clock.advance(REST_MS);
  if (world.writes > writes) {
    problems.push(`a restart without any change made ${world.writes - writes} writes`);
  }
  return problems;
}
