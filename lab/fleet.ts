// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Many emulated machines in one thread, in one world: they can be members of the same clusters.
 *
 * @module
 */

import type { Logger } from "../base/log.ts";
import { clustersOf, decodeMemory, EMPTY_MEMORY, encodeMemory } from "./fleet_memory.ts";
import { hardwareOf } from "./hardware.ts";
import { type EmulatedMachine, type MachineView, startMachine } from "./machine.ts";
import type { MachineOptions } from "./machine_options.ts";
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
  /** What {@linkcode Fleet.memory} gave at the end of another run. */
  readonly memory?: string;
}

/** A running fleet. */
export interface Fleet {
  /** In the order of their numbers. */
  readonly machines: readonly EmulatedMachine[];
  readonly world: World;
  find(uuid: string): EmulatedMachine | undefined;
  views(): MachineView[];
  /** The disks of all machines and what they belong to, as text. */
  memory(): string;
  /** Resolves once the fleet looks as asked for. */
  until(condition: (views: MachineView[]) => boolean, signal?: AbortSignal): Promise<void>;
  /** Calls back after every change of any machine until the returned function is called. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** The seed of a fleet that was given none. */
export const DEFAULT_SEED = "lab";

/** Starts a fleet; its machines boot in the background. */
export function startFleet(
  { count, seed = DEFAULT_SEED, memory, ...machine }: FleetOptions,
  options: { readonly log?: Logger } = {},
): Fleet {
  const { disks, clusters } = memory === undefined ? EMPTY_MEMORY : decodeMemory(memory);
  const world = createWorld();
  for (const [id, members] of clusters) world.cluster(id).etcd.restore(members);
  const changed = createSignal();
  const machines = Array.from({ length: count }, (_, index) => {
    const hardware = hardwareOf(seed, index + 1);
    const disk = disks.get(hardware.uuid);
    const started = startMachine({
      ...machine,
      ...options,
      ...(disk === undefined ? {} : { disk }),
      hardware,
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
    memory: () =>
      encodeMemory({
        disks: new Map(machines.map(({ uuid, disk }) => [uuid, disk])),
        clusters: clustersOf(world),
      }),
    until: (condition, signal) => changed.until(() => condition(views()), signal),
    onChange: (listener) => changed.subscribe(listener),
    close: async () => void await Promise.all(machines.map((each) => each.close())),
  };
}
