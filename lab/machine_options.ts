// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How an emulated machine may be, and what it is when nothing is said.
 *
 * @module
 */

import { type Clock, systemClock } from "../base/clock.ts";
import { type Logger, silentLogger } from "../base/log.ts";
import { emptyDisk, type SystemDisk } from "./disk.ts";
import { type Hardware, hardwareOf } from "./hardware.ts";
import { parseKernelArgs } from "./kernel_args.ts";
import { DEFAULT_PACE, type MachineCore, type Pace, type Quirks } from "./machine_core.ts";
import { createSignal } from "./signal.ts";
import { createWorld, type World } from "./world.ts";

/** The Talos that machines boot from their medium unless told otherwise. */
const DEFAULT_TALOS_VERSION = "v1.12.11";

/** Options of `startMachine`. */
export interface MachineOptions {
  /** As on a boot medium: `siderolink.api=… talos.events.sink=… talos.logging.kernel=…`. */
  readonly kernelArgs: string;
  /** Made from a random seed when absent. */
  readonly hardware?: Hardware;
  /** What its disk holds from before; empty when absent. */
  readonly disk?: SystemDisk;
  /** The Talos of the boot medium, with `v`. */
  readonly talosVersion?: string;
  /** ID of the schematic of the boot medium. */
  readonly schematic?: string;
  /** System extensions of the boot medium, `name:version`. */
  readonly extensions?: readonly string[];
  /** Shared by the machines that can be in one cluster; a world of its own when absent. */
  readonly world?: World;
  readonly pace?: Partial<Pace>;
  readonly quirks?: Partial<Quirks>;
  /** Added to the answer of every call, in milliseconds. */
  readonly latencyMs?: number;
  /** Where its WireGuard binds; all addresses when absent. */
  readonly bindAddress?: string;
  /** Leaves the machine without power. */
  readonly startsOff?: boolean;
  readonly clock?: Clock;
  readonly log?: Logger;
}

/** The lasting parts of a machine. */
export function createCore(options: MachineOptions): MachineCore {
  const clock = options.clock ?? systemClock;
  return {
    hardware: options.hardware ?? hardwareOf(crypto.randomUUID(), 1),
    disk: options.disk ?? emptyDisk(),
    kernelArgs: options.kernelArgs,
    server: parseKernelArgs(options.kernelArgs),
    bindAddress: options.bindAddress,
    mediaVersion: options.talosVersion ?? DEFAULT_TALOS_VERSION,
    mediaSchematic: options.schematic ?? "",
    extensions: options.extensions ?? [],
    world: options.world ?? createWorld(() => clock.nowMs()),
    pace: { ...DEFAULT_PACE, ...options.pace },
    quirks: { runsWithoutEtcd: false, ...options.quirks },
    latencyMs: options.latencyMs ?? 0,
    calls: new Map(),
    clock,
    log: options.log ?? silentLogger,
    changed: createSignal(),
  };
}
