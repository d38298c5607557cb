// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What makes a machine the same machine over all its boots.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { SystemDisk } from "./disk.ts";
import type { Hardware } from "./hardware.ts";
import type { ServerAddresses } from "./kernel_args.ts";
import type { Signal } from "./signal.ts";
import type { World } from "./world.ts";

/** How long the steps of a machine's life take, in milliseconds. */
export interface Pace {
  /** From power to the first packet. */
  readonly bootMs: number;
  /** Writing an installation. */
  readonly installMs: number;
  /** Checking and storing a configuration. */
  readonly applyMs: number;
  /** Starting one service. */
  readonly serviceMs: number;
  /** From its registration to a ready node. */
  readonly nodeReadyMs: number;
  /** From the announcement of a reboot to darkness. */
  readonly stopMs: number;
  /** Darkness in a reboot. */
  readonly offMs: number;
}

/** A fleet that is up within seconds. */
export const DEFAULT_PACE: Pace = {
  bootMs: 150,
  installMs: 400,
  applyMs: 20,
  serviceMs: 80,
  nodeReadyMs: 200,
  stopMs: 150,
  offMs: 250,
};

/** Where an emulated machine may differ from a real one, for tests of a server that must stand both. */
export interface Quirks {
  /** A control plane reports `running` before etcd is bootstrapped, as the public emulator does. */
  readonly runsWithoutEtcd: boolean;
}

/** The parts of a machine that survive a loss of power. */
export interface MachineCore {
  readonly hardware: Hardware;
  /** Replaced when the disk is wiped or exchanged. */
  disk: SystemDisk;
  readonly kernelArgs: string;
  readonly server: ServerAddresses;
  /** Where the machine's WireGuard binds; all addresses when absent. */
  readonly bindAddress: string | undefined;
  /** The Talos of the boot medium, with `v`; an installation boots its own. */
  readonly mediaVersion: string;
  readonly mediaSchematic: string;
  readonly extensions: readonly string[];
  readonly world: World;
  readonly pace: Pace;
  readonly quirks: Quirks;
  /** Added to the answer of every call, in milliseconds. */
  latencyMs: number;
  /** Calls that reached a handler, by name. */
  readonly calls: Map<string, number>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Fires whenever anything about the machine changes. */
  readonly changed: Signal;
}

/** Counts one call. */
export function countCall({ calls, changed }: MachineCore, name: string): void {
  calls.set(name, (calls.get(name) ?? 0) + 1);
  changed.fire();
}
