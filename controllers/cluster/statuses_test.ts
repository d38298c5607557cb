// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource } from "../../cosi/testing.ts";
import {
  ClusterMachineStatusSpec_Stage as Stage,
  ClusterStatusSpec_Phase as Phase,
  MachineSetPhase,
} from "../../proto/gen/omni/specs_pb.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { LoadBalancerStatus } from "../../resources/cluster/load_balancer_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import { MachineSetStatus } from "../../resources/cluster/machine_set_status.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import { LABEL_CONNECTED, LABEL_CONTROL_PLANE_ROLE } from "../../resources/labels.ts";
import { type ClusterStatusFacts, planClusterStatus } from "./cluster_status.ts";
import { planMachineSetStatus } from "./machine_set_status.ts";

const SET = fakeResource(MachineSet, "s", {});
const GOING = { phase: "tearingDown" } as const;

function node(id: string, metadata = {}) {
  return fakeResource(MachineSetNode, id, {}, metadata);
}

function machine(id: string, spec: object = {}) {
  const running = { stage: Stage.RUNNING, ready: true, configUpToDate: true };
  return fakeResource(ClusterMachineStatus, id, { ...running, ...spec }, {
    labels: { [LABEL_CONNECTED]: "", [LABEL_CONTROL_PLANE_ROLE]: "" },
  });
}

type Machine = ReturnType<typeof machine>;

function setOf(nodes: ReturnType<typeof node>[], machines: Machine[]) {
  const plan = planMachineSetStatus(SET, { nodes, machines });
  if (plan.kind !== "write") throw new Error(`Unexpected ${plan.kind}`);
  return { phase: plan.spec.phase, ready: plan.spec.ready };
}

Deno.test("planMachineSetStatus() tells in which phase a set is", () => {
  const { Running, ScalingUp, ScalingDown, Reconfiguring, Failed } = MachineSetPhase;
  const cases: readonly (readonly [string, Machine[], MachineSetPhase, boolean])[] = [
    ["all run", [machine("a"), machine("b")], Running, true],
    ["one is missing", [machine("a")], ScalingUp, false],
    ["one installs", [machine("a"), machine("b", { stage: Stage.INSTALLING })], ScalingUp, false],
    ["one is not ready", [machine("a"), machine("b", { ready: false })], ScalingUp, false],
    [
      "one has an old configuration",
      [machine("a"), machine("b", { configUpToDate: false })],
      Reconfiguring,
      false,
    ],
    ["one refuses its own", [machine("a"), machine("b", { lastConfigError: "x" })], Failed, false],
    [
      "one more is leaving",
      [machine("a"), machine("b"), machine("c", { isRemoved: true })],
      ScalingDown,
      false,
    ],
  ];
  for (const [name, machines, phase, ready] of cases) {
    deepStrictEqual(setOf([node("a"), node("b")], machines), { phase, ready }, name);
  }
});

Deno.test("planMachineSetStatus() gives up the nodes of a set that is removed, then goes", () => {
  const set = fakeResource(MachineSet, "s", {}, GOING);
  const facts = { nodes: [node("a"), node("b", GOING)], machines: [] };
  const plan = planMachineSetStatus(set, facts);
  strictEqual(plan.kind, "write");
  if (plan.kind !== "write") return;
  deepStrictEqual(plan.action, { ids: ["a"] });
  strictEqual(plan.waiting, "nodes are still to be given up: a, b");
  const waiting = planMachineSetStatus(set, { nodes: [node("b", GOING)], machines: [] });
  strictEqual(waiting.kind === "write" && waiting.action, undefined);
  strictEqual(planMachineSetStatus(set, { nodes: [], machines: [] }).kind, "destroy");
});

function setStatus(phase: MachineSetPhase, ready: boolean) {
  return fakeResource(MachineSetStatus, "s", {
    phase,
    ready,
    machines: { total: 1, healthy: 1, connected: 1, requested: 1 },
  }, { labels: { [LABEL_CONTROL_PLANE_ROLE]: "" } });
}

const RUNNING: ClusterStatusFacts = {
  sets: [SET],
  setStatuses: [setStatus(MachineSetPhase.Running, true)],
  machines: [machine("a")],
  patches: [],
  balancer: fakeResource(LoadBalancerStatus, "c", { healthy: true }),
  configVersion: undefined,
};

function clusterOf(facts: Partial<ClusterStatusFacts>) {
  const plan = planClusterStatus(fakeResource(Cluster, "c", {}), { ...RUNNING, ...facts });
  if (plan.kind !== "write") throw new Error(`Unexpected ${plan.kind}`);
  const { phase, ready, kubernetesAPIReady, controlplaneReady } = plan.spec;
  return { phase, ready, kubernetesAPIReady, controlplaneReady };
}

Deno.test("planClusterStatus() is ready only when everything is", () => {
  deepStrictEqual(clusterOf({}), {
    phase: Phase.RUNNING,
    ready: true,
    kubernetesAPIReady: true,
    controlplaneReady: true,
  });
  const balancer = fakeResource(LoadBalancerStatus, "c", { healthy: false });
  deepStrictEqual(clusterOf({ balancer }).ready, false);
  const unready = [setStatus(MachineSetPhase.Running, false)];
  deepStrictEqual(clusterOf({ setStatuses: unready }).ready, false);
  const scaling = [setStatus(MachineSetPhase.ScalingUp, false)];
  deepStrictEqual(clusterOf({ setStatuses: scaling }).phase, Phase.SCALING_UP);
  deepStrictEqual(clusterOf({ machines: [], setStatuses: [] }).phase, Phase.SCALING_UP);
});

Deno.test("planClusterStatus() takes a cluster apart: sets, then patches, then itself", () => {
  const cluster = fakeResource(Cluster, "c", {}, GOING);
  const patch = fakeResource(ConfigPatch, "p", {});
  const first = planClusterStatus(cluster, { ...RUNNING, patches: [patch] });
  deepStrictEqual(first.kind === "write" && first.action, { type: MachineSet, ids: ["s"] });
  const second = planClusterStatus(cluster, { ...RUNNING, sets: [], patches: [patch] });
  deepStrictEqual(second.kind === "write" && second.action, { type: ConfigPatch, ids: ["p"] });
  strictEqual(second.kind === "write" && second.spec.phase, Phase.DESTROYING);
  strictEqual(planClusterStatus(cluster, { ...RUNNING, sets: [] }).kind, "destroy");
});
