// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import type { Controller } from "../../cosi/controller.ts";
import { type Harness, startHarness } from "../../cosi/testing.ts";
import { RuntimeMachineStage as Stage } from "../../proto/gen/talos/resource/enums_pb.ts";
import { ClusterBootstrapStatus } from "../../resources/cluster/cluster_bootstrap_status.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineIdentity } from "../../resources/cluster/cluster_machine_identity.ts";
import { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import {
  ANNOTATION_RESET_IN_BOOT,
  ANNOTATION_SESSION_BOOT,
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MIRROR_MACHINE,
} from "../../resources/labels.ts";
import { Link } from "../../resources/link/link.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { TalosEtcdMember } from "../../resources/mirror/etcd_member.ts";
import { TalosIdentity } from "../../resources/mirror/identity.ts";
import { TalosMachineStatus } from "../../resources/mirror/machine_status.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";
import { clusterMachineIdentityController } from "../cluster/cluster_machine_identity.ts";
import {
  clusterMachineConfigStatusController,
  type ConfigPort,
} from "./cluster_machine_config_status.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const CONTROLLER = "config.ClusterMachineConfigStatusController";
const CONFIG = "version: v1alpha1\nmachine: {type: worker}\n";

function memberOf(id: bigint) {
  return { id, hostname: "", isLearner: false, peerUrls: [] };
}

/** A machine that may not hear what it is told, or keep its answer to itself. */
function startFixture(...others: readonly Controller[]) {
  const calls: string[] = [];
  const machine = {
    isMute: false,
    isDeaf: false,
    config: undefined as string | undefined,
    hasEtcd: true,
    members: [] as readonly bigint[],
  };
  const talos: ConfigPort = {
    readConfiguration: () => Promise.resolve(machine.config),
    applyConfiguration: (_target, config) => {
      calls.push("apply");
      if (!machine.isDeaf) machine.config = new TextDecoder().decode(config);
      return machine.isMute || machine.isDeaf
        ? Promise.reject(new CodedError("unavailable", "the answer is lost"))
        : Promise.resolve();
    },
    reset: () => Promise.resolve(void calls.push("reset")),
    etcdLeave: () => {
      calls.push("leave");
      return machine.hasEtcd
        ? Promise.resolve()
        : Promise.reject(new CodedError("unavailable", "etcd does not run"));
    },
    etcdMembers: () => Promise.resolve(machine.members.map(memberOf)),
    etcdRemoveMember: (_target, id) => Promise.resolve(void calls.push(`remove ${id}`)),
  };
  const harness = startHarness(clusterMachineConfigStatusController({ talos }), ...others);
  return { calls, machine, harness };
}

async function createMachine(
  harness: Harness,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  await harness.create(Link, ID, { nodePublicKey: "boot-1" });
  await harness.create(Machine, ID, { managementAddress: "fdae::2", connected: true });
  await harness.create(TalosSessionStatus, ID, { connected: true }, sessionWith("boot-1"));
  await harness.create(
    TalosMachineStatus,
    `${ID}/machine`,
    { stage: Stage.MACHINE_STAGE_MAINTENANCE },
    { labels: { [LABEL_MIRROR_MACHINE]: ID } },
  );
  await harness.create(ClusterMachine, ID, {}, { labels });
  await harness.create(ClusterMachineConfig, ID, { data: new TextEncoder().encode(CONFIG) });
}

function sessionWith(boot: string) {
  return { annotations: { [ANNOTATION_SESSION_BOOT]: boot } };
}

async function enterStage(harness: Harness, boot: string, stage: Stage): Promise<void> {
  await harness.update(Link, ID, { nodePublicKey: boot });
  await harness.update(TalosMachineStatus, `${ID}/machine`, { stage });
  await harness.update(TalosSessionStatus, ID, { connected: true }, sessionWith(boot));
}

Deno.test("a machine whose answer was lost is reset when it leaves", async () => {
  const { calls, machine, harness } = startFixture();
  await using _ = harness;
  machine.isMute = true;
  await createMachine(harness);
  await harness.eventuallyWaits(
    CONTROLLER,
    ID,
    ({ state }) => strictEqual(state, "failing"),
  );
  await harness.teardown(ClusterMachine, ID);
  await harness.eventuallyWaits(
    CONTROLLER,
    ID,
    ({ reason }) => strictEqual(reason.includes("has just taken its configuration"), true),
  );
  await enterStage(harness, "boot-2", Stage.MACHINE_STAGE_RUNNING);
  await harness.eventuallyWaits(
    CONTROLLER,
    ID,
    ({ reason }) => strictEqual(reason, "the machine is being reset"),
  );
  strictEqual(calls.at(-1), "reset");
  await enterStage(harness, "boot-3", Stage.MACHINE_STAGE_MAINTENANCE);
  await harness.eventuallyGone(ClusterMachineConfigStatus, ID);
  strictEqual(calls.filter((call) => call === "reset").length, 1);
});

Deno.test("a machine that took nothing is given back as it is", async () => {
  const { calls, machine, harness } = startFixture();
  await using _ = harness;
  machine.isDeaf = true;
  await createMachine(harness);
  await harness.eventuallyWaits(
    CONTROLLER,
    ID,
    ({ state }) => strictEqual(state, "failing"),
  );
  await harness.teardown(ClusterMachine, ID);
  await harness.eventuallyGone(ClusterMachineConfigStatus, ID);
  strictEqual(calls.includes("reset"), false);
});

Deno.test("a configuration is applied once over restarts", async () => {
  const { calls, harness } = startFixture();
  await using _ = harness;
  await createMachine(harness);
  await harness.eventually(
    ClusterMachineConfigStatus,
    ID,
    ({ spec }) => strictEqual(spec.clusterMachineConfigSha256 === "", false),
  );
  await harness.restart();
  await harness.settled();
  deepStrictEqual(calls, ["apply"]);
});

Deno.test("a control plane leaves etcd only after etcd was started", async () => {
  for (const bootstrapped of [false, true]) {
    const { calls, harness } = startFixture();
    await using _ = harness;
    const labels = { [LABEL_CLUSTER]: "c", [LABEL_CONTROL_PLANE_ROLE]: "" };
    await harness.create(ClusterMachine, "another", {}, { labels });
    await harness.create(ClusterBootstrapStatus, "c", { bootstrapped });
    await createMachine(harness, labels);
    await harness.eventually(
      ClusterMachineConfigStatus,
      ID,
      ({ spec }) => strictEqual(spec.clusterMachineConfigSha256 === "", false),
    );
    await enterStage(harness, "boot-2", Stage.MACHINE_STAGE_RUNNING);
    await harness.teardown(ClusterMachine, ID);
    await harness.eventually(
      ClusterMachineConfigStatus,
      ID,
      ({ metadata }) => strictEqual(metadata.annotations[ANNOTATION_RESET_IN_BOOT], "boot-2"),
    );
    deepStrictEqual(calls, bootstrapped ? ["apply", "leave", "reset"] : ["apply", "reset"]);
  }
});

Deno.test("a machine is not let go by what a session with its last boot told", async () => {
  const { calls, harness } = startFixture();
  await using _ = harness;
  await createMachine(harness);
  await harness.eventually(
    ClusterMachineConfigStatus,
    ID,
    ({ spec }) => strictEqual(spec.clusterMachineConfigSha256 === "", false),
  );
  // It rebooted with its configuration; the session in which it was in maintenance has not ended.
  await harness.update(Link, ID, { nodePublicKey: "boot-2" });
  await harness.teardown(ClusterMachine, ID);
  await harness.eventually(
    ClusterMachineConfigStatus,
    ID,
    ({ metadata }) => strictEqual(metadata.annotations[ANNOTATION_RESET_IN_BOOT], "boot-2"),
  );
  deepStrictEqual(calls, ["apply", "reset"]);
});

/** A configured control plane that runs beside another one, and whose etcd cannot leave. */
async function createSickControlPlane(
  { machine, harness }: Pick<ReturnType<typeof startFixture>, "machine" | "harness">,
): Promise<void> {
  machine.hasEtcd = false;
  const labels = { [LABEL_CLUSTER]: "c", [LABEL_CONTROL_PLANE_ROLE]: "" };
  await harness.create(ClusterMachine, "another", {}, { labels });
  await harness.create(Machine, "another", { managementAddress: "fdae::3", connected: true });
  await harness.create(ClusterMachineIdentity, "another", { etcdMemberId: 1n });
  await harness.create(ClusterBootstrapStatus, "c", { bootstrapped: true });
  await createMachine(harness, labels);
  await harness.eventually(
    ClusterMachineConfigStatus,
    ID,
    ({ spec }) => strictEqual(spec.clusterMachineConfigSha256 === "", false),
  );
  await enterStage(harness, "boot-2", Stage.MACHINE_STAGE_RUNNING);
}

async function becomesReset(harness: Harness): Promise<void> {
  await harness.eventually(
    ClusterMachineConfigStatus,
    ID,
    ({ metadata }) => strictEqual(metadata.annotations[ANNOTATION_RESET_IN_BOOT], "boot-2"),
  );
}

Deno.test("a control plane whose etcd is gone or sick is taken out through another one", async () => {
  for (const [members, expected] of [[[1n], []], [[1n, 2n], ["remove 2"]]] as const) {
    const { calls, machine, harness } = startFixture();
    await using _ = harness;
    machine.members = members;
    await harness.create(ClusterMachineIdentity, ID, { etcdMemberId: 2n });
    await createSickControlPlane({ machine, harness });
    await harness.teardown(ClusterMachine, ID);
    await becomesReset(harness);
    deepStrictEqual(calls, ["apply", "leave", ...expected, "reset"]);
  }
});

Deno.test("a control plane's member stays known until the machine has left", async () => {
  const { calls, machine, harness } = startFixture(clusterMachineIdentityController());
  await using _ = harness;
  machine.members = [1n, 2n];
  const labels = { [LABEL_MIRROR_MACHINE]: ID };
  await harness.create(TalosIdentity, `${ID}/node`, { nodeId: "n" }, { labels });
  await harness.create(TalosEtcdMember, `${ID}/local`, { memberId: "2" }, { labels });
  await createSickControlPlane({ machine, harness });
  await harness.eventually(
    ClusterMachineIdentity,
    ID,
    ({ metadata, spec }) =>
      deepStrictEqual([spec.etcdMemberId, metadata.finalizers], [2n, [CONTROLLER]]),
  );
  // It is away while its removal begins: the member is needed long after that.
  await harness.update(Machine, ID, { managementAddress: "fdae::2", connected: false });
  await harness.teardown(ClusterMachine, ID);
  await harness.eventually(
    ClusterMachineIdentity,
    ID,
    ({ metadata }) => strictEqual(metadata.phase, "tearingDown"),
  );
  await harness.update(Machine, ID, { managementAddress: "fdae::2", connected: true });
  await becomesReset(harness);
  deepStrictEqual(calls, ["apply", "leave", "remove 2", "reset"]);
  await enterStage(harness, "boot-3", Stage.MACHINE_STAGE_MAINTENANCE);
  await harness.eventuallyGone(ClusterMachineIdentity, ID);
});

Deno.test("a control plane that never told its member is reset only where etcd has none of it", async () => {
  const { calls, machine, harness } = startFixture();
  await using _ = harness;
  machine.members = [1n, 7n];
  await createSickControlPlane({ machine, harness });
  await harness.teardown(ClusterMachine, ID);
  await harness.eventuallyWaits(
    CONTROLLER,
    ID,
    ({ reason }) => match(reason, /it never told its member/),
  );
  strictEqual(calls.includes("reset"), false);
  machine.members = [1n];
  await harness.update(TalosMachineStatus, `${ID}/machine`, { stage: Stage.MACHINE_STAGE_RUNNING });
  await becomesReset(harness);
  strictEqual(calls.at(-1), "reset");
});
