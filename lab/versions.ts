// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What machines of different Talos releases do differently.
 *
 * @module
 */

/** The minor release of a version: 12 of `v1.12.10`; 0 when it is none of Talos 1. */
export function talosMinor(version: string): number {
  const match = /^v?1\.(\d+)(?:\.|$)/.exec(version);
  return Number(match?.[1] ?? 0);
}

/** Talos 1.14 and later: never reboots for a configuration, installs by a call of its own. */
export function isRecentTalos(version: string): boolean {
  return talosMinor(version) >= 14;
}

/** From Talos 1.13 on a machine in maintenance has the whole machine API. */
export function hasFullMaintenanceApi(version: string): boolean {
  return talosMinor(version) >= 13;
}
