// SPDX-License-Identifier: AGPL-3.0-or-later

// Every rule of clusters, machine sets and their nodes: what breaks it, and the field that the
// refusal names.

import { Cluster } from "../../resources/cluster/cluster.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import {
  type Case,
  CLUSTER,
  CONTROL_PLANE,
  CP_NODE,
  LOCKED,
  MACHINE,
  of,
  SET,
  testRules,
  VERSIONS,
  WORKER,
  WORKER_NODE,
} from "./testing_rules.ts";

const CASES: readonly Case[] = [
  of({ type: Cluster, id: "new_1-a", spec: VERSIONS }),
  of({ type: Cluster, id: "a b", spec: VERSIONS, refused: ["metadata.id"] }),
  of({
    type: Cluster,
    id: "n",
    refused: ["spec.talosVersion", "spec.kubernetesVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, talosVersion: "v11.0" },
    refused: ["spec.talosVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, talosVersion: "1.99.0" },
    refused: ["spec.talosVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, kubernetesVersion: "1.20.0" },
    refused: ["spec.kubernetesVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, features: { diskEncryption: true } },
    refused: ["spec.features.diskEncryption"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: {
      ...VERSIONS,
      backupConfiguration: { enabled: true, interval: { seconds: 60n, nanos: 0 } },
    },
    refused: ["spec.backupConfiguration.interval"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: {
      ...VERSIONS,
      backupConfiguration: { enabled: true, interval: { seconds: 7200n, nanos: 0 } },
    },
  }),
  of({ type: Cluster, verb: "update", id: "a", spec: { ...VERSIONS, features: {} } }),
  of({
    type: Cluster,
    verb: "update",
    id: "a",
    spec: { ...VERSIONS, talosVersion: "1.11.5" },
    refused: ["spec.talosVersion"],
  }),
  of({
    type: Cluster,
    verb: "update",
    id: "locked",
    spec: { ...VERSIONS, kubernetesVersion: "1.34.2" },
    annotations: LOCKED,
    refused: ["spec"],
  }),
  of({
    type: Cluster,
    verb: "update",
    id: "locked",
    spec: { ...VERSIONS, kubernetesVersion: "1.34.2" },
  }),
  of({ type: Cluster, verb: "teardown", id: "locked", refused: ["the cluster"] }),
  of({ type: Cluster, verb: "destroy", id: "locked", refused: ["the cluster"] }),
  of({ type: Cluster, verb: "teardown", id: "a" }),

  of({ type: MachineSet, id: "a-more", labels: WORKER }),
  of({ type: MachineSet, id: "x", refused: [`metadata.labels["${CLUSTER}"]`, "metadata.labels"] }),
  of({
    type: MachineSet,
    id: "x",
    labels: { ...WORKER, ...CONTROL_PLANE },
    refused: ["metadata.labels"],
  }),
  of({
    type: MachineSet,
    id: "x",
    labels: { ...WORKER, [CLUSTER]: "none" },
    refused: [`metadata.labels["${CLUSTER}"]`],
  }),
  of({
    type: MachineSet,
    id: "a-control-planes",
    verb: "update",
    labels: WORKER,
    refused: ["metadata.id"],
  }),
  of({ type: MachineSet, id: "a-second", labels: CONTROL_PLANE, refused: ["metadata.labels"] }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { machineAllocation: { name: "none", machineCount: 1 } },
    refused: ["spec.machineAllocation.name"],
  }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { machineAllocation: { name: "class" }, machineClass: { name: "class" } },
    refused: ["spec.machineClass"],
  }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { machineAllocation: { name: "class", machineCount: 1 } },
  }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { bootstrapSpec: { clusterUuid: "u", snapshot: "s" } },
    refused: ["spec.bootstrapSpec"],
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-control-planes",
    labels: CONTROL_PLANE,
    spec: { updateStrategyConfig: { rolling: { maxParallelism: 2 } } },
    refused: ["spec.updateStrategyConfig.rolling.maxParallelism"],
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-workers",
    labels: WORKER,
    spec: { updateStrategyConfig: { rolling: { maxParallelism: 2 } } },
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-workers",
    labels: { ...WORKER, [CLUSTER]: "locked" },
    refused: [`metadata.labels["${CLUSTER}"]`],
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-control-planes",
    labels: CONTROL_PLANE,
    spec: { machineAllocation: { name: "class", machineCount: 1 } },
    refused: ["spec.machineAllocation"],
  }),

  of({ type: MachineSetNode, id: MACHINE.replace("d", "e"), labels: WORKER_NODE }),
  of({ type: MachineSetNode, id: "one", labels: WORKER_NODE, refused: ["metadata.id"] }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: WORKER,
    refused: [`metadata.labels["${SET}"]`],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: { ...CONTROL_PLANE, [SET]: "a-workers" },
    refused: ["metadata.labels"],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: { ...WORKER_NODE, [CLUSTER]: "locked" },
    refused: [`metadata.labels["${SET}"]`],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: { ...WORKER, [SET]: "a-classed" },
    refused: [`metadata.labels["${SET}"]`],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE,
    verb: "update",
    labels: CP_NODE,
    annotations: { "omni.sidero.dev/locked": "" },
    refused: ['metadata.annotations["omni.sidero.dev/locked"]'],
  }),
  of({
    type: MachineSetNode,
    verb: "teardown",
    id: MACHINE.replace("d", "b"),
    refused: ["the machine"],
  }),
];

testRules(CASES);
