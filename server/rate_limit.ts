// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Limits how often one source may ask, without a timer for any of them.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** Options of {@linkcode createRateLimit}. */
export interface RateLimitOptions {
  /** Requests that a source may make at once after a rest. */
  readonly burst: number;
  readonly perSecond: number;
  /** Sources that are remembered; the one that rested longest is forgotten first. */
  readonly sources: number;
  readonly clock: Clock;
}

interface Bucket {
  tokens: number;
  filledMs: number;
}

/** Returns whether a source may ask now, and counts the request if so. */
export function createRateLimit(
  { burst, perSecond, sources, clock }: RateLimitOptions,
): (source: string) => boolean {
  // A map keeps the order of insertion: its first key is the source that rested longest.
  const buckets = new Map<string, Bucket>();
  return (source) => {
    const nowMs = clock.nowMs();
    const bucket = buckets.get(source) ?? { tokens: burst, filledMs: nowMs };
    buckets.delete(source);
    buckets.set(source, bucket);
    for (const oldest of buckets.keys()) {
      if (buckets.size <= sources) break;
      buckets.delete(oldest);
    }
    const earned = Math.max(0, nowMs - bucket.filledMs) * perSecond / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + earned);
    bucket.filledMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };
}
