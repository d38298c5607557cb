// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Turns of the event loop.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/**
 * What the runtime's environment has to hold from the start, so that it looks at its sockets and
 * timers in every turn of the event loop. Otherwise it does so in each 61st only, as long as there is
 * always other work: who lets others run by {@linkcode loopTurn} would let none of their peers in.
 */
export const TURN_ENVIRONMENT = { DENO_TOKIO_EVENT_INTERVAL: "1" } as const;

/**
 * Takes {@linkcode TURN_ENVIRONMENT} out of the environment, and returns what was missing of it as one
 * would set it, empty when nothing was. The threads that a server starts talk to it and to one socket
 * that they ask by themselves; a look at the runtime's sockets in each turn would bring them nothing.
 */
export function takeTurnEnvironment(): string {
  const pairs = Object.entries(TURN_ENVIRONMENT);
  const missing = pairs.filter(([name, value]) => Deno.env.get(name) !== value)
    .map((pair) => pair.join("=")).join(" ");
  for (const [name] of pairs) Deno.env.delete(name);
  return missing;
}

/** Lets everything else that is ready run first; a timer of 0 ms would wait for one at least. */
export function loopTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
