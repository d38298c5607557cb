// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Gives every machine of a cluster its configuration, and takes it away when the machine leaves.
 *
 * A boot of a machine is known by its WireGuard key, which is new at every boot. A machine that
 * shows up in maintenance in another boot than the one that got the configuration has lost it
 * without this server's doing: nothing is applied again by itself, because its disk may hold data.
 *
 * @module
 */

import { createHash } from "node:crypto";
import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import { codeOf, formatError } from "../../base/errors.ts";
import type { Resource } from "../../cosi/resource.ts";
import { MachineStatusEvent_MachineStage as Stage } from "../../proto/gen/talos/machine_pb.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import {
  ANNOTATION_APPLIED_IN_BOOT,
  ANNOTATION_RESET_IN_BOOT,
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
} from "../../resources/labels.ts";
import { Link } from "../../resources/link/link.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import type { TalosApi } from "../../talos/api.ts";
import type { TalosTarget } from "../../talos/target.ts";
import { gatherTargetFacts, isInMaintenance, TARGET_INPUTS, targetOf } from "../talos/target.ts";

/** What the decision depends on besides the ClusterMachine. */
export interface ConfigStatusFacts {
  readonly config: Resource<typeof ClusterMachineConfig> | undefined;
  readonly current: Resource<typeof ClusterMachineConfigStatus> | undefined;
  readonly forced: Resource<typeof NodeForceDestroyRequest> | undefined;
  readonly status: Resource<typeof MachineStatus> | undefined;
  /** The key of the present boot; empty for a machine whose Link is gone. */
  readonly boot: string;
  readonly isConnected: boolean;
  readonly isInMaintenance: boolean;
  /** The machine last said that it runs with its configuration. */
  readonly isRunning: boolean;
  /** Control planes that stay in the cluster, for a control plane. */
  readonly otherControlPlanes: number;
  /** Absent for a machine that is gone. */
  readonly target: TalosTarget | undefined;
}

/** What the machine must be told. */
export type ConfigAction =
  | ApplyAction
  | { readonly kind: "reset"; readonly target: TalosTarget; readonly leavesEtcd: boolean };

/** A configuration to apply. */
export interface ApplyAction {
  readonly kind: "apply";
  readonly target: TalosTarget;
  readonly config: Uint8Array;
  /** Hash of the configuration that the machine has; empty for none. */
  readonly previousSha256: string;
}

const MAPPED = [
  sameId(ClusterMachineConfig),
  sameId(ClusterMachineConfigStatus),
  sameId(NodeForceDestroyRequest),
  sameId(Link),
  sameId(MachineStatus),
  ...TARGET_INPUTS,
] as const;

/** Creates the controller; a machine is in maintenance again before its ClusterMachine goes. */
export function clusterMachineConfigStatusController(
  { talos }: { readonly talos: Pick<TalosApi, "applyConfiguration" | "reset" | "etcdLeave"> },
): Controller {
  return defineController({
    name: "config.ClusterMachineConfigStatusController",
    primary: ClusterMachine,
    mapped: MAPPED,
    output: ClusterMachineConfigStatus,
    plansTeardown: true,
    gather: gatherConfigStatusFacts,
    plan: planClusterMachineConfigStatus,
    act: (_machine, action, { signal }) =>
      action.kind === "apply"
        ? apply(talos, action, signal)
        : reset(talos, action.target, action.leavesEtcd, signal),
  });
}

async function gatherConfigStatusFacts(
  { metadata: { id, labels } }: Resource<typeof ClusterMachine>,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<ConfigStatusFacts> {
  const siblings = await reader.list(ClusterMachine, {
    labels: { [LABEL_CLUSTER]: labels[LABEL_CLUSTER] ?? "", [LABEL_CONTROL_PLANE_ROLE]: "" },
  });
  const machine = await reader.find(Machine, id);
  const targetFacts = await gatherTargetFacts(id, reader);
  return {
    config: await reader.find(ClusterMachineConfig, id),
    current: await reader.find(ClusterMachineConfigStatus, id),
    forced: await reader.find(NodeForceDestroyRequest, id),
    status: await reader.find(MachineStatus, id),
    boot: (await reader.find(Link, id))?.spec.nodePublicKey ?? "",
    isConnected: machine?.spec.connected ?? false,
    isInMaintenance: isInMaintenance(targetFacts.snapshot),
    isRunning: targetFacts.snapshot?.spec.machineStatus?.stage === Stage.RUNNING,
    otherControlPlanes:
      siblings.filter(({ metadata }) => metadata.id !== id && metadata.phase === "running").length,
    target: machine && targetOf(machine, targetFacts),
  };
}

/** Decides what the machine must be told next. */
export function planClusterMachineConfigStatus(
  machine: Resource<typeof ClusterMachine>,
  facts: ConfigStatusFacts,
): Plan<typeof ClusterMachineConfigStatus, ConfigAction> {
  return machine.metadata.phase === "tearingDown"
    ? planReset(machine, facts)
    : planApply(machine, facts);
}

function planApply(
  machine: Resource<typeof ClusterMachine>,
  facts: ConfigStatusFacts,
): Plan<typeof ClusterMachineConfigStatus, ConfigAction> {
  const { config, current, status, boot, isConnected, target } = facts;
  if (config === undefined || config.spec.data.length === 0) {
    return wait(config?.spec.generationError || "the machine has no configuration yet");
  }
  const sha256 = createHash("sha256").update(config.spec.data).digest("hex");
  const applied = {
    labels: machine.metadata.labels,
    annotations: { [ANNOTATION_APPLIED_IN_BOOT]: boot },
    spec: {
      clusterMachineConfigVersion: String(config.metadata.version),
      clusterMachineConfigSha256: sha256,
      talosVersion: status?.spec.talosVersion ?? "",
      schematicId: status?.spec.schematic?.fullId ?? "",
    },
  };
  const appliedIn = current?.metadata.annotations[ANNOTATION_APPLIED_IN_BOOT];
  if (current !== undefined && current.spec.clusterMachineConfigSha256 === sha256) {
    const annotations = current.metadata.annotations;
    // Only the machine's own versions, and the number of an equal configuration, may be new.
    return { kind: "write", ...applied, annotations, ...lostConfig(facts, appliedIn) };
  }
  if (current !== undefined && isRefused(current, config)) {
    return { ...kept(machine, current), waiting: current.spec.lastConfigError };
  }
  if (target === undefined || !isConnected) return wait("the machine is not connected");
  const lost = lostConfig(facts, appliedIn);
  if (current !== undefined && lost.waiting !== undefined) return wait(lost.waiting);
  return {
    kind: "write",
    ...applied,
    action: {
      kind: "apply",
      target,
      config: config.spec.data,
      previousSha256: current?.spec.clusterMachineConfigSha256 ?? "",
    },
  };
}

/** Whether the machine has refused this very configuration. */
function isRefused(
  { spec }: Resource<typeof ClusterMachineConfigStatus>,
  { metadata }: Resource<typeof ClusterMachineConfig>,
): boolean {
  return spec.lastConfigError !== "" &&
    spec.clusterMachineConfigVersion === String(metadata.version);
}

function kept(
  { metadata: { labels } }: Resource<typeof ClusterMachine>,
  { metadata: { annotations }, spec }: Resource<typeof ClusterMachineConfigStatus>,
) {
  return { kind: "write", spec, labels, annotations } as const;
}

/** A machine that was configured and is in maintenance in a later boot. */
function lostConfig(
  { isInMaintenance, boot }: ConfigStatusFacts,
  appliedIn: string | undefined,
): { readonly waiting?: string } {
  return isInMaintenance && appliedIn !== undefined && appliedIn !== boot
    ? {
      waiting: "the machine is in maintenance although it was configured: " +
        "take it out of the cluster and add it again to have it set up anew",
    }
    : {};
}

/** Looks again at a machine that resets, in ms; events usually come first. */
const RESET_LOOK_AGAIN_MS = 10_000;

function planReset(
  machine: Resource<typeof ClusterMachine>,
  facts: ConfigStatusFacts,
): Plan<typeof ClusterMachineConfigStatus, ConfigAction> {
  const { current, forced, boot, isConnected, target } = facts;
  if (current === undefined || current.spec.clusterMachineConfigSha256 === "") {
    return destroy("the machine was never configured");
  }
  if (target === undefined) return destroy("the machine is gone");
  if (forced !== undefined) return destroy("its removal is forced");
  const { annotations } = current.metadata;
  if (facts.isInMaintenance && annotations[ANNOTATION_APPLIED_IN_BOOT] !== boot) {
    return destroy("the machine is in maintenance");
  }
  const keep = kept(machine, current);
  if (!isConnected) {
    return {
      ...keep,
      waiting: "the machine must be reset and is not connected: " +
        "connect it, or create a NodeForceDestroyRequest with its ID",
    };
  }
  // Only a machine that is up again with its configuration needs to be told a second time.
  const resetIn = annotations[ANNOTATION_RESET_IN_BOOT];
  const isUnderWay = resetIn !== undefined && (resetIn === boot || !facts.isRunning);
  if (facts.isInMaintenance || isUnderWay) {
    const waiting = "the machine is being reset";
    return { ...keep, waiting, retryAfterMs: RESET_LOOK_AGAIN_MS };
  }
  return {
    ...keep,
    annotations: { ...annotations, [ANNOTATION_RESET_IN_BOOT]: boot },
    waiting: "the machine is being reset",
    action: {
      kind: "reset",
      target,
      leavesEtcd: LABEL_CONTROL_PLANE_ROLE in machine.metadata.labels &&
        facts.otherControlPlanes > 0,
    },
  };
}

function destroy(reason: string): { readonly kind: "destroy"; readonly reason: string } {
  return { kind: "destroy", reason };
}

async function apply(
  talos: Pick<TalosApi, "applyConfiguration">,
  { target, config, previousSha256 }: ApplyAction,
  signal: AbortSignal,
): Promise<void | { lastConfigError: string; clusterMachineConfigSha256: string }> {
  try {
    await talos.applyConfiguration(target, config, { signal });
  } catch (error) {
    // A refused configuration is refused again: the user must see why and mend it.
    if (codeOf(error) !== "invalidArgument") throw error;
    return { lastConfigError: formatError(error), clusterMachineConfigSha256: previousSha256 };
  }
}

async function reset(
  talos: Pick<TalosApi, "reset" | "etcdLeave">,
  target: TalosTarget,
  leavesEtcd: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (leavesEtcd) await talos.etcdLeave(target, { signal });
  await talos.reset(target, false, { signal });
}
