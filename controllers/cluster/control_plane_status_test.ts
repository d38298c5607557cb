// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource } from "../../cosi/testing.ts";
import {
  ControlPlaneStatusSpec_Condition_Severity as Severity,
  ControlPlaneStatusSpec_Condition_Status as Status,
} from "../../proto/gen/omni/specs_pb.ts";
import { ClusterMachineIdentity } from "../../resources/cluster/cluster_machine_identity.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { LABEL_CONNECTED, LABEL_CONTROL_PLANE_ROLE } from "../../resources/labels.ts";
import { planControlPlaneStatus } from "./control_plane_status.ts";

const SET = fakeResource(MachineSet, "c", {}, { labels: { [LABEL_CONTROL_PLANE_ROLE]: "" } });

function member(id: string) {
  return fakeResource(ClusterMachineIdentity, id, { etcdMemberId: 7n });
}

function machine(id: string, isConnected = true) {
  const labels: Record<string, string> = isConnected ? { [LABEL_CONNECTED]: "" } : {};
  return fakeResource(ClusterMachineStatus, id, {}, { labels });
}

function conditions(
  machines: ReturnType<typeof machine>[],
  identities: ReturnType<typeof member>[],
) {
  const plan = planControlPlaneStatus(SET, { machines, identities });
  if (plan.kind !== "write") throw new Error(`Unexpected ${plan.kind}`);
  return plan.spec.conditions?.map(({ status, severity, reason }) => ({
    status,
    severity,
    reason,
  }));
}

const READY = { status: Status.Ready, severity: Severity.Info, reason: "" };

Deno.test("planControlPlaneStatus() is ready when all are connected members", () => {
  deepStrictEqual(conditions([machine("a")], [member("a")]), [READY, READY]);
});

Deno.test("planControlPlaneStatus() names a minority that is missing as a warning", () => {
  const machines = [machine("a"), machine("b", false), machine("c")];
  deepStrictEqual(conditions(machines, [member("a"), member("b"), member("c")]), [READY, {
    status: Status.NotReady,
    severity: Severity.Warning,
    reason: "not connected: b",
  }]);
});

Deno.test("planControlPlaneStatus() is an error when the majority is in danger", () => {
  const [etcd] = conditions([machine("a"), machine("b")], [member("a")]) ?? [];
  deepStrictEqual([etcd?.severity, etcd?.reason], [Severity.Error, "not a member of etcd: b"]);
  strictEqual(conditions([], [])?.every(({ severity }) => severity === Severity.Error), true);
});

Deno.test("planControlPlaneStatus() says nothing of workers", () => {
  const workers = fakeResource(MachineSet, "w", {});
  const plan = planControlPlaneStatus(workers, { machines: [], identities: [] });
  strictEqual(plan.kind, "destroy");
});
