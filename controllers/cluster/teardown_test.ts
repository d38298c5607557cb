// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { startHarness } from "../../cosi/testing.ts";
import type { ResourceType } from "../../cosi/resource.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterSecret } from "../../resources/cluster/cluster_secret.ts";
import { ClusterStatus } from "../../resources/cluster/cluster_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import {
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MACHINE_SET,
} from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { TalosVersion } from "../../resources/talos/talos_version.ts";
import { clusterConfigVersionController } from "./cluster_config_version.ts";
import { clusterMachineController } from "./cluster_machine.ts";
import { clusterSecretsController } from "./cluster_secrets.ts";
import { clusterStatusController } from "./cluster_status.ts";
import { machineSetStatusController } from "./machine_set_status.ts";
import type { TeardownPort } from "./teardown_port.ts";

const CLUSTER = "c";
const SET = "c-control-planes";
const NODE = "1d4f0c6e-0000-4000-8000-000000000001";
const LABELS = { [LABEL_CLUSTER]: CLUSTER, [LABEL_CONTROL_PLANE_ROLE]: "" };

/** A finalizer of a part that is not under test: the reset of a machine. */
const RESET = "test.Reset";

const USER_TYPES: readonly ResourceType[] = [
  Cluster,
  MachineSet,
  MachineSetNode,
  ConfigPatch,
  NodeForceDestroyRequest,
];

function startClusterHarness() {
  const teardown: TeardownPort = {
    tearDown: async (type, ids) => {
      for (const id of ids) {
        if (await harness.find(type, id) !== undefined) await harness.teardown(type, id);
      }
    },
  };
  const harness = startHarness(
    clusterConfigVersionController(),
    clusterSecretsController({
      clock: { nowMs: () => Date.now(), sleep: () => Promise.resolve() },
    }),
    clusterMachineController({ teardown }),
    machineSetStatusController({ teardown }),
    clusterStatusController({ teardown }),
    { destroys: USER_TYPES },
  );
  return harness;
}

type ClusterHarness = ReturnType<typeof startClusterHarness>;

async function createCluster(harness: ClusterHarness): Promise<void> {
  // A contract without an RSA key, which takes seconds to make.
  await harness.create(TalosVersion, "1.6.0", { version: "1.6.0" });
  await harness.create(Machine, NODE, { managementAddress: "fdae::2", connected: true });
  await harness.create(Cluster, CLUSTER, { talosVersion: "1.6.0", kubernetesVersion: "1.29.0" });
  await harness.create(MachineSet, SET, {}, { labels: LABELS });
  await harness.create(MachineSetNode, NODE, {}, {
    labels: { ...LABELS, [LABEL_MACHINE_SET]: SET },
  });
  await harness.create(ConfigPatch, "200-c", { data: "a: 1" }, {
    labels: { [LABEL_CLUSTER]: CLUSTER },
  });
  await harness.eventually(ClusterMachine, NODE, () => {});
  await harness.eventually(ClusterSecret, CLUSTER, () => {});
}

/** Adds or removes the finalizer that keeps a ClusterMachine. */
async function holdMachine(harness: ClusterHarness, finalizers: readonly string[]): Promise<void> {
  const state = await harness.state();
  const stored = await state.get({ namespace: "default", type: ClusterMachine.type, id: NODE });
  const others = stored.metadata.finalizers.filter((name) => name !== RESET);
  await state.update({
    metadata: { ...stored.metadata, finalizers: [...others, ...finalizers] },
    protoSpec: stored.protoSpec,
    yamlSpec: "",
  }, { owner: stored.metadata.owner });
}

Deno.test("a cluster is taken apart from its nodes up, and keeps its secrets until they are free", async () => {
  await using harness = startClusterHarness();
  await createCluster(harness);
  await holdMachine(harness, [RESET]);

  await harness.teardown(Cluster, CLUSTER);
  await harness.eventually(
    ClusterMachine,
    NODE,
    ({ metadata }) => strictEqual(metadata.phase, "tearingDown"),
  );
  // The machine is not reset yet: everything that a reset needs is still there.
  strictEqual((await harness.find(ClusterSecret, CLUSTER))?.metadata.phase, "running");
  strictEqual((await harness.find(ClusterConfigVersion, CLUSTER))?.metadata.phase, "running");
  strictEqual((await harness.find(MachineSet, SET))?.metadata.phase, "tearingDown");
  await harness.eventually(
    ClusterStatus,
    CLUSTER,
    ({ spec }) => strictEqual(spec.ready, false),
  );

  await holdMachine(harness, []);
  for (const type of [Cluster, MachineSet, MachineSetNode, ConfigPatch]) {
    const ids: Readonly<Record<string, string>> = {
      [MachineSet.type]: SET,
      [MachineSetNode.type]: NODE,
      [ConfigPatch.type]: "200-c",
    };
    await harness.eventuallyGone(type, ids[type.type] ?? CLUSTER);
  }
  await harness.eventuallyGone(ClusterSecret, CLUSTER);
  await harness.eventuallyGone(ClusterStatus, CLUSTER);
  strictEqual((await harness.find(Machine, NODE))?.metadata.phase, "running");
});

Deno.test("the removal of a cluster goes on after a restart in the middle", async () => {
  await using harness = startClusterHarness();
  await createCluster(harness);
  await holdMachine(harness, [RESET]);
  await harness.teardown(Cluster, CLUSTER);
  await harness.eventually(
    ClusterMachine,
    NODE,
    ({ metadata }) => strictEqual(metadata.phase, "tearingDown"),
  );
  await harness.restart();
  await holdMachine(harness, []);
  await harness.eventuallyGone(Cluster, CLUSTER);
  await harness.eventuallyGone(ClusterSecret, CLUSTER);
});

Deno.test("a node of a cluster that is being removed takes no machine", async () => {
  await using harness = startClusterHarness();
  await createCluster(harness);
  await holdMachine(harness, [RESET]);
  await harness.teardown(Cluster, CLUSTER);
  const late = "1d4f0c6e-0000-4000-8000-000000000002";
  await harness.create(Machine, late, { managementAddress: "fdae::3", connected: true });
  await harness.create(MachineSetNode, late, {}, {
    labels: { ...LABELS, [LABEL_MACHINE_SET]: SET },
  });
  await harness.eventuallyGone(MachineSetNode, late);
  strictEqual(await harness.find(ClusterMachine, late), undefined);
  await holdMachine(harness, []);
  await harness.eventuallyGone(Cluster, CLUSTER);
});

Deno.test("the secrets of a cluster stay the same over restarts", async () => {
  await using harness = startClusterHarness();
  await createCluster(harness);
  const before = (await harness.find(ClusterSecret, CLUSTER))?.spec.data;
  await harness.restart();
  await harness.update(Cluster, CLUSTER, { talosVersion: "1.6.0", kubernetesVersion: "1.30.0" });
  await harness.eventually(
    ClusterMachine,
    NODE,
    ({ spec }) => strictEqual(spec.kubernetesVersion, "1.30.0"),
  );
  strictEqual(
    (await harness.find(ClusterSecret, CLUSTER))?.spec.data.toHex(),
    before?.toHex(),
  );
});

Deno.test("a forced removal is not forced again when the machine comes back", async () => {
  await using harness = startClusterHarness();
  await createCluster(harness);
  await harness.create(NodeForceDestroyRequest, NODE, {});
  await harness.teardown(MachineSetNode, NODE);
  await harness.eventuallyGone(MachineSetNode, NODE);
  await harness.eventuallyGone(NodeForceDestroyRequest, NODE);
});
