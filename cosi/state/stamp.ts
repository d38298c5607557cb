// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The time that writes are stamped with.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Instant } from "../resource.ts";

/** The present time, one and the same object for all writes of a millisecond. */
export function createStamp(clock: Clock): () => Instant {
  let lastMs: number | undefined;
  let last: Instant = { seconds: 0n, nanos: 0 };
  return () => {
    const ms = clock.nowMs();
    if (ms !== lastMs) {
      const seconds = Math.floor(ms / 1000);
      last = { seconds: BigInt(seconds), nanos: Math.floor((ms - seconds * 1000) * 1e6) };
      lastMs = ms;
    }
    return last;
  };
}
