// SPDX-License-Identifier: AGPL-3.0-or-later

/** Ranges of ports. @module */

/** A range of ports, both ends included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}
