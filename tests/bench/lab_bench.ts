// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How long machines take to join and to become a cluster, and what that costs the server.
 *
 * The server is a process of its own on a SQLite state; the machines run in this one. Machine and
 * server share the cores, so compare figures of one run.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import type { State } from "../../cosi/state/state.ts";
import { type Fleet, startFleet } from "../../lab/fleet.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterStatus } from "../../resources/cluster/cluster_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import {
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MACHINE_SET,
} from "../../resources/labels.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import {
  createResource,
  listResources,
  type ServerProcess,
  startServerProcess,
  TALOS_VERSION,
} from "../integration/server_process.ts";
import { report, residentKib } from "./figures.ts";

/** How often the state is looked at, in ms: the resolution of the times. */
const LOOK_EVERY_MS = 20;

/** Bounds each measurement, in ms. */
const DEADLINE_MS = 120_000;

/** Machines of the measurement without a cluster. */
const FLEET_SIZE = 50;

/** Waits for a condition and returns the seconds since `start`. */
async function secondsUntil(start: number, holds: () => Promise<boolean>): Promise<number> {
  while (!await holds()) {
    if (performance.now() - start > DEADLINE_MS) throw new Error("Not within the deadline");
    await systemClock.sleep(LOOK_EVERY_MS);
  }
  return (performance.now() - start) / 1000;
}

/** Machines that the server has a connection to and an inventory of. */
async function countInventoried(state: State): Promise<number> {
  const statuses = await listResources(state, MachineStatus);
  return statuses.filter(({ spec }) =>
    spec.connected && (spec.hardware?.blockdevices.length ?? 0) > 0
  ).length;
}

async function createCluster(state: State, machineId: string): Promise<void> {
  const labels = { [LABEL_CLUSTER]: "bench", [LABEL_CONTROL_PLANE_ROLE]: "" };
  await createResource(state, Cluster, "bench", {
    talosVersion: TALOS_VERSION,
    kubernetesVersion: "1.34.1",
  });
  await createResource(state, MachineSet, "bench-control-planes", {}, labels);
  await createResource(state, MachineSetNode, machineId, {}, {
    ...labels,
    [LABEL_MACHINE_SET]: "bench-control-planes",
  });
}

/** Runs a measurement with a server and a fleet of its own. */
async function withFleet(
  count: number,
  measure: (server: ServerProcess, fleet: Fleet, start: number) => Promise<void>,
): Promise<void> {
  await using server = await startServerProcess();
  if (count > 1) report("server RSS, started", await residentKib(server.pid) / 1024, "MiB");
  const start = performance.now();
  const fleet = startFleet({ kernelArgs: server.kernelArgs, count, seed: "bench" });
  try {
    await measure(server, fleet, start);
  } finally {
    await fleet.close();
  }
}

async function measureCluster(
  { state }: ServerProcess,
  fleet: Fleet,
  start: number,
): Promise<void> {
  const joined = await secondsUntil(start, async () => await countInventoried(state) === 1);
  report("first machine joined and inventoried, after its start", joined, "s");
  const created = performance.now();
  await createCluster(state, fleet.machines[0]?.uuid ?? "");
  const running = await secondsUntil(created, async () => {
    const statuses = await listResources(state, ClusterStatus);
    return statuses.some(({ spec }) => spec.ready);
  });
  report("cluster of one machine ready, after its creation", running, "s");
}

async function measureJoins(
  { state, pid }: ServerProcess,
  _fleet: Fleet,
  start: number,
): Promise<void> {
  const all = await secondsUntil(start, async () => await countInventoried(state) === FLEET_SIZE);
  report(`${FLEET_SIZE} machines joined and inventoried, after their start`, all, "s");
  report("machines joined and inventoried in a second", FLEET_SIZE / all, "1/s");
  report(`server RSS, ${FLEET_SIZE} machines`, await residentKib(pid) / 1024, "MiB");
}

if (import.meta.main) {
  await withFleet(1, measureCluster);
  await withFleet(FLEET_SIZE, measureJoins);
}
