// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The `grpc-timeout` header.
 *
 * @module
 */

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

/** The time in milliseconds, `undefined` without a header, `NaN` for a bad one. */
export function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const unit = UNIT_MS[text.slice(-1)];
  const digits = text.slice(0, -1);
  if (unit === undefined || !/^[0-9]{1,8}$/.test(digits)) {
    return NaN;
  }
  return Number(digits) * unit;
}

/** The header for a time in milliseconds, in the finest unit that fits in eight digits. */
export function formatTimeout(ms: number): string {
  const micros = Math.max(1, Math.ceil(ms * 1000));
  if (micros < 1e8) return `${micros}u`;
  if (ms < 1e8) return `${Math.ceil(ms)}m`;
  return `${Math.min(99_999_999, Math.ceil(ms / 1000))}S`;
}
