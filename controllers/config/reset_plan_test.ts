// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource } from "../../cosi/testing.ts";
import { RuntimeMachineStage as Stage } from "../../proto/gen/talos/resource/enums_pb.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import {
  ANNOTATION_APPLIED_IN_BOOT,
  ANNOTATION_APPLYING_SHA256,
  ANNOTATION_RESET_IN_BOOT,
  LABEL_CONTROL_PLANE_ROLE,
} from "../../resources/labels.ts";
import type { ConfigStatusFacts } from "./config_facts.ts";
import { planReset } from "./reset_plan.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const WORKER = fakeResource(ClusterMachine, ID, {}, { phase: "tearingDown" });
const CONTROL_PLANE = fakeResource(ClusterMachine, ID, {}, {
  phase: "tearingDown",
  labels: { [LABEL_CONTROL_PLANE_ROLE]: "" },
});

function status(annotations: Record<string, string> = {}, sha256 = "hash") {
  return fakeResource(ClusterMachineConfigStatus, ID, { clusterMachineConfigSha256: sha256 }, {
    annotations: { [ANNOTATION_APPLIED_IN_BOOT]: "boot-1", ...annotations },
  });
}

/** A machine that runs, one boot after it got its configuration. */
const FACTS: ConfigStatusFacts = {
  config: undefined,
  current: status(),
  forced: undefined,
  status: undefined,
  boot: "boot-2",
  isConnected: true,
  stage: Stage.MACHINE_STAGE_RUNNING,
  otherEtcdMembers: 2,
  etcdPeer: undefined,
  target: { machineId: ID, address: "fdae::2", boot: "boot-2" },
};

Deno.test("planReset() resets a machine that runs and remembers the boot", () => {
  const plan = planReset(WORKER, FACTS);
  strictEqual(plan.kind, "write");
  if (plan.kind !== "write") return;
  deepStrictEqual(plan.action, {
    kind: "reset",
    target: FACTS.target,
    leavesEtcd: false,
    etcdPeer: undefined,
  });
  strictEqual(plan.annotations?.[ANNOTATION_RESET_IN_BOOT], "boot-2");
});

Deno.test("planReset() takes a control plane out of etcd unless it is the last", () => {
  for (const [otherEtcdMembers, leavesEtcd] of [[2, true], [0, false]] as const) {
    const plan = planReset(CONTROL_PLANE, { ...FACTS, otherEtcdMembers });
    deepStrictEqual(plan.kind === "write" && plan.action, {
      kind: "reset",
      target: FACTS.target,
      leavesEtcd,
      etcdPeer: undefined,
    });
  }
});

Deno.test("planReset() lets a machine go that is in maintenance in a new boot", () => {
  const plan = planReset(WORKER, { ...FACTS, stage: Stage.MACHINE_STAGE_MAINTENANCE });
  strictEqual(plan.kind, "destroy");
});

Deno.test("planReset() keeps a machine whose install has only begun", () => {
  // The configuration is on its way: maintenance in the same boot is not yet the end of it.
  const plan = planReset(WORKER, {
    ...FACTS,
    boot: "boot-1",
    stage: Stage.MACHINE_STAGE_MAINTENANCE,
  });
  strictEqual(plan.kind, "write");
  strictEqual(plan.kind === "write" && plan.action, undefined);
});

Deno.test("planReset() resets a machine of which nobody knows whether it was configured", () => {
  const current = status({ [ANNOTATION_APPLYING_SHA256]: "hash" }, "");
  const plan = planReset(WORKER, { ...FACTS, current });
  strictEqual(plan.kind === "write" && plan.action?.kind, "reset");
});

Deno.test("planReset() asks a machine in maintenance that may have just been configured", () => {
  const inMaintenance = { ...FACTS, boot: "boot-1", stage: Stage.MACHINE_STAGE_MAINTENANCE };
  const told = { [ANNOTATION_APPLYING_SHA256]: "hash" };
  const plan = planReset(WORKER, { ...inMaintenance, current: status(told, "") });
  strictEqual(plan.kind === "write" && plan.action?.kind, "check");
  // It has answered that it has no configuration: it will not get one any more.
  const current = status({ ...told, [ANNOTATION_RESET_IN_BOOT]: "boot-1" }, "");
  strictEqual(planReset(WORKER, { ...inMaintenance, current }).kind, "destroy");
});

Deno.test("planReset() sends no second reset until the machine runs again", () => {
  const current = status({ [ANNOTATION_RESET_IN_BOOT]: "boot-2" });
  const stages = [undefined, Stage.MACHINE_STAGE_RESETTING, Stage.MACHINE_STAGE_BOOTING];
  for (const boot of ["boot-2", "boot-3"]) {
    for (const stage of stages) {
      const plan = planReset(WORKER, { ...FACTS, current, boot, stage });
      strictEqual(plan.kind, "write");
      strictEqual(plan.kind === "write" && plan.action, undefined);
    }
  }
  const again = planReset(WORKER, { ...FACTS, current, boot: "boot-3" });
  strictEqual(again.kind === "write" && again.action?.kind, "reset");
});

Deno.test("planReset() keeps a machine that is not connected, and says what to do", () => {
  const plan = planReset(WORKER, { ...FACTS, isConnected: false });
  strictEqual(plan.kind === "write" && plan.waiting?.includes("NodeForceDestroyRequest"), true);
});

Deno.test("planReset() lets go of what need not or cannot be reset", () => {
  const forced = fakeResource(NodeForceDestroyRequest, ID, {});
  const cases: readonly Partial<ConfigStatusFacts>[] = [
    { current: undefined },
    { current: status({}, "") },
    { target: undefined, isConnected: false },
    { forced, isConnected: false },
  ];
  for (const facts of cases) strictEqual(planReset(WORKER, { ...FACTS, ...facts }).kind, "destroy");
});
