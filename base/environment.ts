// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the runtime reads from its environment when it starts, and cannot be told later.
 *
 * @module
 */

/**
 * The runtime looks at its sockets and timers in every turn of the event loop. Otherwise it does so in
 * each 61st only, as long as there is always other work: who lets others run by `loopTurn()` would let
 * none of their peers in.
 */
const TURNS = ["DENO_TOKIO_EVENT_INTERVAL", "1"] as const;

/**
 * Each thread's young generation grows to three times 8 MiB at most, not to three times 16: it grows
 * once much of it survives, as in a rush of machines, and never shrinks. All that is older is collected
 * when it has grown by half, not when it has grown two- to fourfold: of a large state the process takes
 * less, and the thread is held up for less.
 */
const MEMORY = ["DENO_V8_FLAGS", "--max-semi-space-size=8,--heap-growing-percent=50"] as const;

/** What the environment of a server has to hold from the start, unless it is set to something else. */
export const SERVER_ENVIRONMENT: Readonly<Record<string, string>> = Object.fromEntries([
  TURNS,
  MEMORY,
]);

/**
 * What of {@linkcode SERVER_ENVIRONMENT} the environment lacks, as one would set it; empty when it
 * lacks nothing. Another limit of the young generation is somebody's own choice of all of it.
 */
export function missingEnvironment(): string {
  const missing = [];
  if (Deno.env.get(TURNS[0]) !== TURNS[1]) missing.push(TURNS);
  if (!/max[-_]semi[-_]space[-_]size/.test(Deno.env.get(MEMORY[0]) ?? "")) missing.push(MEMORY);
  return missing.map((pair) => pair.join("=")).join(" ");
}

/**
 * Lets the threads that the server starts look at the runtime's sockets as seldom as usual: they talk
 * to the server and to one socket that they ask by themselves, and would gain nothing.
 */
export function spareThreads(): void {
  Deno.env.delete(TURNS[0]);
}
