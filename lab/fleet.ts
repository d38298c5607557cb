// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Many emulated machines in one thread, in one world: they can be members of the same clusters.
 *
 * @module
 */

import type { Logger } from "../base/log.ts";
import { hardwareOf } from "./hardware.ts";
import {
  type EmulatedMachine,
  type MachineOptions,
  type MachineView,
  startMachine,
} from "./machine.ts";
import { createSignal } from "./signal.ts";
import { createWorld, type World } from "./world.ts";

/** Options of {@linkcode startFleet}. */
export interface FleetOptions extends
  Pick<
    MachineOptions,
    | "kernelArgs"
    | "talosVersion"
    | "schematic"
    | "extensions"
    | "pace"
    | "quirks"
    | "latencyMs"
    | "bindAddress"
  > {
  readonly count: number;
  /** Fleets of the same seed have the same UUIDs; `lab` when absent. */
  readonly seed?: string;
}

/** A running fleet. */
export interface Fleet {
  /** In the order of their numbers. */
  readonly machines: readonly EmulatedMachine[];
  readonly world: World;
  find(uuid: string): EmulatedMachine | undefined;
  views(): MachineView[];
  /** Resolves once the fleet looks as asked for. */
  until(condition: (views: MachineView[]) => boolean, signal?: AbortSignal): Promise<void>;
  /** Calls back after every change of any machine until the returned function is called. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** The seed of a fleet that was given none. */
export const DEFAULT_SEED = "lab";

/** The UUID of machine number `index`, counted from 1, of a fleet of this seed. */
export function fleetUuid(index: number, seed = DEFAULT_SEED): string {
  return hardwareOf(seed, index).uuid;
}

/** Starts a fleet; its machines boot in the background. */
export function startFleet(
  { count, seed = DEFAULT_SEED, ...machine }: FleetOptions,
  options: { readonly log?: Logger } = {},
): Fleet {
  const world = createWorld();
  const changed = createSignal();
  const machines = Array.from({ length: count }, (_, index) => {
    const started = startMachine({
      ...machine,
      ...options,
      hardware: hardwareOf(seed, index + 1),
      world,
    });
    started.onChange(() => changed.fire());
    return started;
  });
  const views = (): MachineView[] => machines.map((each) => each.view());
  return {
    machines,
    world,
    find: (uuid) => machines.find((each) => each.uuid === uuid),
    views,
    until: (condition, signal) => changed.until(() => condition(views()), signal),
    onChange: (listener) => changed.subscribe(listener),
    close: async () => void await Promise.all(machines.map((each) => each.close())),
  };
}
