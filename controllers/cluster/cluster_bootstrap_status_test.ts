// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { startHarness } from "../../cosi/testing.ts";
import { ClusterMachineStatusSpec_Stage as Stage } from "../../proto/gen/omni/specs_pb.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterBootstrapStatus } from "../../resources/cluster/cluster_bootstrap_status.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { LABEL_CLUSTER, LABEL_CONTROL_PLANE_ROLE } from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";
import { clusterBootstrapStatusController } from "./cluster_bootstrap_status.ts";

const CONTROLLER = "cluster.ClusterBootstrapStatusController";
const CLUSTER = { [LABEL_CLUSTER]: "c" };
const CONTROL_PLANE = { labels: { ...CLUSTER, [LABEL_CONTROL_PLANE_ROLE]: "" } };

function startFixture(failures = 0) {
  const calls: string[] = [];
  const harness = startHarness(clusterBootstrapStatusController({
    talos: {
      bootstrap: ({ machineId }) => {
        calls.push(machineId);
        return calls.length <= failures ? Promise.reject(new Error("not yet")) : Promise.resolve();
      },
    },
  }));
  return { calls, harness };
}

type Harness = ReturnType<typeof startFixture>["harness"];

async function createMachine(harness: Harness, id: string, stage: Stage, isReached = true) {
  await harness.create(Machine, id, { managementAddress: "fdae::2", connected: true });
  await harness.create(ClusterMachine, id, {}, CONTROL_PLANE);
  await harness.create(ClusterMachineStatus, id, { stage, configUpToDate: true }, CONTROL_PLANE);
  if (!isReached) return;
  await harness.create(TalosSessionStatus, id, { connected: true }, { labels: CLUSTER });
}

Deno.test("etcd is started once, on one control plane, over failures and restarts", async () => {
  const { calls, harness } = startFixture(2);
  await using _ = harness;
  await harness.create(Cluster, "c", {});
  await createMachine(harness, "b", Stage.BOOTING);
  await createMachine(harness, "a", Stage.CONFIGURING);
  await harness.eventually(
    ClusterBootstrapStatus,
    "c",
    ({ spec }) => strictEqual(spec.bootstrapped, true),
  );
  deepStrictEqual(calls, ["b", "b", "b"]);
  await harness.restart();
  await harness.update(ClusterMachineStatus, "a", { stage: Stage.RUNNING, configUpToDate: true });
  await harness.settled();
  strictEqual(calls.length, 3);
});

Deno.test("etcd is not started on a machine that no session reaches", async () => {
  const { calls, harness } = startFixture();
  await using _ = harness;
  await harness.create(Cluster, "c", {});
  await createMachine(harness, "a", Stage.RUNNING, false);
  await harness.eventuallyWaits(CONTROLLER, "c");
  strictEqual(calls.length, 0);
  await harness.create(TalosSessionStatus, "a", { connected: true }, { labels: CLUSTER });
  await harness.eventually(ClusterBootstrapStatus, "c", () => strictEqual(calls.length, 1));
});

Deno.test("etcd is never started on a second machine because the first one went silent", async () => {
  const { calls, harness } = startFixture(1_000);
  await using _ = harness;
  await harness.create(Cluster, "c", {});
  await createMachine(harness, "a", Stage.RUNNING);
  await harness.eventuallyWaits(
    CONTROLLER,
    "c",
    ({ state }) => strictEqual(state, "failing"),
  );
  // It may have been started: its answer is lost, and now the machine is, too.
  await harness.update(TalosSessionStatus, "a", { connected: false });
  await createMachine(harness, "b", Stage.RUNNING);
  await harness.eventuallyWaits(
    CONTROLLER,
    "c",
    ({ reason }) => strictEqual(reason.includes('machine "a"'), true),
  );
  strictEqual(calls.includes("b"), false);
  // Once it has left the cluster, nothing can be on it any more.
  await harness.destroy(ClusterMachine, "a");
  await harness.destroy(ClusterMachineStatus, "a");
  await harness.eventuallyWaits(CONTROLLER, "c", () => strictEqual(calls.at(-1), "b"));
});

Deno.test("etcd is started anew after the last control plane has left", async () => {
  const { calls, harness } = startFixture();
  await using _ = harness;
  await harness.create(Cluster, "c", {});
  await createMachine(harness, "a", Stage.RUNNING);
  await harness.eventually(
    ClusterBootstrapStatus,
    "c",
    ({ spec }) => strictEqual(spec.bootstrapped, true),
  );
  await harness.destroy(ClusterMachineStatus, "a");
  await harness.destroy(ClusterMachine, "a");
  await createMachine(harness, "b", Stage.RUNNING);
  await harness.eventually(
    ClusterBootstrapStatus,
    "c",
    ({ spec }) => strictEqual(spec.bootstrapped && calls.at(-1) === "b", true),
  );
  deepStrictEqual(calls, ["a", "b"]);
});
