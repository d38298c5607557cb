// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Which machine to call, and as whom.
 *
 * @module
 */

import type { Secret } from "../base/redact.ts";

/** The client credentials of a cluster: PEM texts. */
export interface TalosCredentials {
  /** The certificates that the machine's own one must be issued by. */
  readonly ca: string;
  readonly crt: string;
  readonly key: Secret;
}

/** A machine's API. */
export interface TalosTarget {
  /** The machine's UUID: one session is kept for each. */
  readonly machineId: string;
  /** Its address inside the tunnel. */
  readonly address: string;
  /** The WireGuard key of its present boot, base64: no session outlives the boot. */
  readonly boot: string;
  /** Absent for a machine in maintenance, which shows no certificate that could be checked. */
  readonly credentials?: TalosCredentials;
}

/** The port of the machine API; fixed by Talos. */
export const TALOS_API_PORT = 50000;

/** Whether two targets can share a session. */
export function isSameTarget(a: TalosTarget, b: TalosTarget): boolean {
  return a.machineId === b.machineId && a.address === b.address && a.boot === b.boot &&
    a.credentials?.ca === b.credentials?.ca && a.credentials?.crt === b.credentials?.crt;
}
