// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { createHash } from "node:crypto";
import { fakeResource } from "../../cosi/testing.ts";
import { RuntimeMachineStage as Stage } from "../../proto/gen/talos/resource/enums_pb.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import { ANNOTATION_APPLIED_IN_BOOT, ANNOTATION_APPLYING_SHA256 } from "../../resources/labels.ts";
import { planApply } from "./apply_plan.ts";
import type { ConfigStatusFacts } from "./config_facts.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const DATA = new TextEncoder().encode("version: v1alpha1\n");
const SHA256 = createHash("sha256").update(DATA).digest("hex");
const MACHINE = fakeResource(ClusterMachine, ID, {});
const CONFIG = fakeResource(ClusterMachineConfig, ID, { data: DATA }, { version: 7 });

const FACTS: ConfigStatusFacts = {
  config: CONFIG,
  current: undefined,
  forced: undefined,
  status: undefined,
  boot: "boot-1",
  isConnected: true,
  stage: Stage.MACHINE_STAGE_MAINTENANCE,
  otherEtcdMembers: 0,
  etcdPeer: undefined,
  target: { machineId: ID, address: "fdae::2", boot: "boot-1" },
};

function applied(spec: { clusterMachineConfigSha256: string; lastConfigError?: string }) {
  return fakeResource(ClusterMachineConfigStatus, ID, {
    clusterMachineConfigVersion: "7",
    ...spec,
  }, { annotations: { [ANNOTATION_APPLIED_IN_BOOT]: "boot-1" } });
}

/** A status that says: the machine is about to be told, nobody knows yet whether it heard. */
function applying(sha256: string, spec: { clusterMachineConfigSha256?: string } = {}) {
  return fakeResource(ClusterMachineConfigStatus, ID, spec, {
    annotations: { [ANNOTATION_APPLIED_IN_BOOT]: "boot-1", [ANNOTATION_APPLYING_SHA256]: sha256 },
  });
}

Deno.test("planApply() writes down what it is about to apply before it does", () => {
  for (const current of [undefined, applied({ clusterMachineConfigSha256: "old" })]) {
    const facts = { ...FACTS, current, boot: "boot-2", stage: Stage.MACHINE_STAGE_RUNNING };
    const plan = planApply(MACHINE, facts);
    strictEqual(plan.kind, "write");
    if (plan.kind !== "write") return;
    strictEqual(plan.action, undefined);
    strictEqual(plan.spec.clusterMachineConfigSha256 ?? "", current === undefined ? "" : "old");
    deepStrictEqual(plan.annotations, {
      [ANNOTATION_APPLIED_IN_BOOT]: "boot-2",
      [ANNOTATION_APPLYING_SHA256]: SHA256,
    });
  }
});

Deno.test("planApply() applies the old configuration again over one that may have arrived", () => {
  const current = applying("new", { clusterMachineConfigSha256: SHA256 });
  const facts = { ...FACTS, current, stage: Stage.MACHINE_STAGE_RUNNING };
  const first = planApply(MACHINE, facts);
  strictEqual(first.kind === "write" && first.annotations?.[ANNOTATION_APPLYING_SHA256], SHA256);
  const second = planApply(MACHINE, {
    ...facts,
    current: applying(SHA256, { clusterMachineConfigSha256: SHA256 }),
  });
  strictEqual(second.kind === "write" && second.action?.kind, "apply");
});

Deno.test("planApply() goes on with a machine that rebooted and has no configuration yet", () => {
  const refused = applied({ clusterMachineConfigSha256: "", lastConfigError: "bad disk" });
  const config = fakeResource(ClusterMachineConfig, ID, { data: DATA }, { version: 8 });
  for (const facts of [{ current: applying(SHA256) }, { current: refused, config }]) {
    const plan = planApply(MACHINE, { ...FACTS, ...facts, boot: "boot-2" });
    strictEqual(plan.kind, "write");
    if (plan.kind !== "write") return;
    deepStrictEqual(plan.annotations, {
      [ANNOTATION_APPLIED_IN_BOOT]: "boot-2",
      [ANNOTATION_APPLYING_SHA256]: SHA256,
    });
  }
});

Deno.test("planApply() applies to a machine in maintenance and remembers the boot", () => {
  const plan = planApply(MACHINE, { ...FACTS, current: applying(SHA256) });
  strictEqual(plan.kind, "write");
  if (plan.kind !== "write") return;
  deepStrictEqual(plan.action, {
    kind: "apply",
    target: FACTS.target,
    config: DATA,
    previousSha256: "",
  });
  deepStrictEqual(plan.annotations, { [ANNOTATION_APPLIED_IN_BOOT]: "boot-1" });
  strictEqual(plan.spec.clusterMachineConfigSha256, SHA256);
});

Deno.test("planApply() applies nothing that is applied, in whatever boot", () => {
  for (const boot of ["boot-1", "boot-2"]) {
    const current = applied({ clusterMachineConfigSha256: SHA256 });
    const plan = planApply(MACHINE, {
      ...FACTS,
      boot,
      current,
      stage: Stage.MACHINE_STAGE_RUNNING,
    });
    strictEqual(plan.kind, "write");
    if (plan.kind !== "write") return;
    strictEqual(plan.action, undefined);
    deepStrictEqual(plan.annotations, { [ANNOTATION_APPLIED_IN_BOOT]: "boot-1" });
  }
});

Deno.test("planApply() applies a changed configuration to a machine that runs", () => {
  const current = applying(SHA256, { clusterMachineConfigSha256: "old" });
  const plan = planApply(MACHINE, { ...FACTS, current, stage: Stage.MACHINE_STAGE_RUNNING });
  strictEqual(plan.kind === "write" && plan.action?.kind, "apply");
});

Deno.test("planApply() never sets up a machine anew that lost its configuration", () => {
  for (const clusterMachineConfigSha256 of [SHA256, "old"]) {
    const current = applied({ clusterMachineConfigSha256 });
    const plan = planApply(MACHINE, { ...FACTS, current, boot: "boot-2" });
    strictEqual("action" in plan && plan.action !== undefined, false);
    const reason = plan.kind === "wait" ? plan.reason : plan.kind === "write" ? plan.waiting : "";
    strictEqual(reason?.includes("although it was configured"), true);
  }
});

Deno.test("planApply() does not repeat a configuration that was refused", () => {
  const current = applied({ clusterMachineConfigSha256: "", lastConfigError: "bad disk" });
  const plan = planApply(MACHINE, { ...FACTS, current });
  strictEqual(plan.kind, "write");
  if (plan.kind !== "write") return;
  strictEqual(plan.action, undefined);
  strictEqual(plan.waiting, "bad disk");
});

Deno.test("planApply() tries again when a refused configuration has changed", () => {
  const current = applied({ clusterMachineConfigSha256: "", lastConfigError: "bad disk" });
  const config = fakeResource(ClusterMachineConfig, ID, { data: DATA }, { version: 8 });
  const plan = planApply(MACHINE, { ...FACTS, current, config });
  strictEqual(plan.kind === "write" && plan.annotations?.[ANNOTATION_APPLYING_SHA256], SHA256);
});

Deno.test("planApply() waits for what it needs, and says so", () => {
  const cases: readonly (readonly [Partial<ConfigStatusFacts>, RegExp])[] = [
    [{ config: undefined }, /no configuration yet/],
    [{ isConnected: false }, /not connected/],
    [{ target: undefined }, /not connected/],
    // An event may have told of maintenance long ago: without a session nothing is known.
    [{ stage: undefined }, /does not answer yet/],
  ];
  for (const [missing, reason] of cases) {
    const plan = planApply(MACHINE, { ...FACTS, ...missing });
    strictEqual(plan.kind, "wait");
    if (plan.kind === "wait") strictEqual(reason.test(plan.reason), true);
  }
});
