// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Durations as Go programs write them, such as `1h30m`.
 *
 * @module
 */

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  "µs": 1e-6,
  "μs": 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

/** Reads a duration in seconds; `undefined` when it is none. Only a zero may go without a unit. */
export function parseDuration(text: string): number | undefined {
  const body = text.replace(/^[-+]/, "");
  if (body === "0") return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(body)) return undefined;
  let seconds = 0;
  for (const [, amount, unit] of body.matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    seconds += Number(amount) * (UNIT_SECONDS[unit ?? ""] ?? 0);
  }
  return text.startsWith("-") ? -seconds : seconds;
}

/** Prints seconds as a duration: `1h30m0s`, `1.5s`, `20ms`. */
export function printDuration(seconds: number): string {
  const sign = seconds < 0 ? "-" : "";
  const size = Math.abs(seconds);
  if (size === 0) return "0s";
  const trim = (value: number, digits: number) => String(Number(value.toFixed(digits)));
  if (size < 1e-6) return `${sign}${trim(size * 1e9, 0)}ns`;
  if (size < 1e-3) return `${sign}${trim(size * 1e6, 3)}µs`;
  if (size < 1) return `${sign}${trim(size * 1e3, 6)}ms`;
  const hours = Math.floor(size / 3600);
  const minutes = Math.floor(size / 60) % 60;
  const rest = `${trim(size % 60, 9)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${sign}${minutes}m${rest}` : `${sign}${rest}`;
}
