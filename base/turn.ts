// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Turns of the event loop.
 *
 * @module
 */

import { setImmediate } from "node:timers";

/** Lets everything else that is ready run first; a timer of 0 ms would wait for one at least. */
export function loopTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
