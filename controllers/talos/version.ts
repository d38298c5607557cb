// SPDX-License-Identifier: AGPL-3.0-or-later

/** Reads what matters of a Talos version. @module */

/** The minor number of a version such as `v1.12.10`, of which the major is 1; -1 for no version. */
export function talosMinor(version: string): number {
  const match = /^v?1\.(\d{1,3})(?:\.|$)/.exec(version);
  return match === null ? -1 : Number(match[1]);
}
