// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Turns of the event loop, for tests of what shares them.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/** Counts turns of the event loop while `work` goes on; gives the turn at any time. */
export async function countTurns(
  work: (turn: () => number) => Promise<unknown>,
): Promise<number> {
  let turn = 0;
  let goesOn = true;
  const count = (): void => {
    turn++;
    if (goesOn) setImmediate(count);
  };
  setImmediate(count);
  await work(() => turn);
  goesOn = false;
  return turn;
}

/** Keeps the thread for itself. */
export function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
