// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Sums up the machines of a machine set, and takes the set apart when it is removed.
 *
 * @module
 */

import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import {
  ClusterMachineStatusSpec_Stage as Stage,
  MachineSetPhase,
} from "../../proto/gen/omni/specs_pb.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import { MachineSetStatus } from "../../resources/cluster/machine_set_status.ts";
import { LABEL_CONNECTED, LABEL_MACHINE_SET } from "../../resources/labels.ts";
import { listed } from "./listed.ts";
import type { TeardownPort } from "./teardown_port.ts";

/** The members of a set. */
export interface MachineSetFacts {
  readonly nodes: readonly Resource<typeof MachineSetNode>[];
  readonly machines: readonly Resource<typeof ClusterMachineStatus>[];
}

/** Nodes are to be given up. */
export interface TearDownNodes {
  readonly ids: readonly string[];
}

/** Creates the controller; a set that is removed gives up its nodes first. */
export function machineSetStatusController(
  { teardown }: { readonly teardown: TeardownPort },
): Controller {
  return defineController({
    name: "cluster.MachineSetStatusController",
    primary: MachineSet,
    mapped: [
      byLabel(MachineSetNode, LABEL_MACHINE_SET),
      byLabel(ClusterMachineStatus, LABEL_MACHINE_SET),
    ],
    output: MachineSetStatus,
    plansTeardown: true,
    gather: gatherMachineSetFacts,
    plan: planMachineSetStatus,
    act: (_set, { ids }, { signal }) => teardown.tearDown(MachineSetNode, ids, { signal }),
  });
}

async function gatherMachineSetFacts(
  { metadata: { id } }: Resource<typeof MachineSet>,
  reader: Reader<typeof MachineSetNode | typeof ClusterMachineStatus>,
): Promise<MachineSetFacts> {
  const options = { labels: { [LABEL_MACHINE_SET]: id } };
  return {
    nodes: await reader.list(MachineSetNode, options),
    machines: await reader.list(ClusterMachineStatus, options),
  };
}

/** Derives the status, and what to give up when the set is being removed. */
export function planMachineSetStatus(
  set: Resource<typeof MachineSet>,
  { nodes, machines }: MachineSetFacts,
): Plan<typeof MachineSetStatus, TearDownNodes> {
  const requested = nodes.filter(({ metadata }) => metadata.phase === "running");
  const spec = {
    machines: {
      total: machines.length,
      healthy: machines.filter(({ spec }) => spec.ready).length,
      connected: machines.filter(({ metadata }) => LABEL_CONNECTED in metadata.labels).length,
      requested: requested.length,
    },
    ...(set.spec.machineAllocation === undefined
      ? {}
      : { machineAllocation: set.spec.machineAllocation }),
  };
  const { labels } = set.metadata;
  if (set.metadata.phase === "tearingDown") {
    if (nodes.length === 0) return { kind: "destroy", reason: "the machine set has no nodes left" };
    return {
      kind: "write",
      labels,
      spec: { ...spec, phase: MachineSetPhase.Destroying, ready: false },
      waiting: `nodes are still to be given up: ${listed(nodes)}`,
      ...(requested.length === 0
        ? {}
        : { action: { ids: requested.map(({ metadata }) => metadata.id) } }),
    };
  }
  const phase = phaseOf(requested.length, machines);
  const ready = phase === MachineSetPhase.Running && spec.machines.healthy === requested.length;
  return { kind: "write", labels, spec: { ...spec, phase, ready } };
}

/** Stages before a machine has run its configuration for the first time. */
const ON_THE_WAY_IN: ReadonlySet<Stage> = new Set([
  Stage.UNKNOWN,
  Stage.CONFIGURING,
  Stage.INSTALLING,
]);

function phaseOf(
  requested: number,
  machines: readonly Resource<typeof ClusterMachineStatus>[],
): MachineSetPhase {
  const present = machines.filter(({ spec }) => !spec.isRemoved);
  if (present.length < requested) return MachineSetPhase.ScalingUp;
  if (present.length < machines.length || present.length > requested) {
    return MachineSetPhase.ScalingDown;
  }
  if (present.some(({ spec }) => spec.lastConfigError !== "")) return MachineSetPhase.Failed;
  if (present.some(({ spec }) => ON_THE_WAY_IN.has(spec.stage))) return MachineSetPhase.ScalingUp;
  if (present.some(({ spec }) => !spec.configUpToDate)) return MachineSetPhase.Reconfiguring;
  // A machine that has never been ready is still on its way up.
  return present.every(({ spec }) => spec.ready)
    ? MachineSetPhase.Running
    : MachineSetPhase.ScalingUp;
}
