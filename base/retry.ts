// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How long to wait before another attempt.
 *
 * @module
 */

/** Options of {@linkcode backoffMs}. */
export interface BackoffOptions {
  /** Wait before the second attempt, in milliseconds. */
  readonly initialMs: number;
  /** Upper bound of the wait, in milliseconds. */
  readonly maximumMs: number;
  /** A number in [0, 1), to spread attempts that failed together. */
  readonly random?: () => number;
}

/**
 * The wait after failed attempt number `attempt` (the first is 1), in milliseconds: it doubles each
 * time up to the maximum, and a random half of it is taken off.
 */
export function backoffMs(attempt: number, options: BackoffOptions): number {
  const { initialMs, maximumMs, random = Math.random } = options;
  const full = Math.min(maximumMs, initialMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(full * (1 - random() / 2));
}
