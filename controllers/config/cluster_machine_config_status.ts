// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Gives every machine of a cluster its configuration, and takes it away when the machine leaves.
 *
 * @module
 */

import { isDeepStrictEqual } from "node:util";
import {
  byLabel,
  type Controller,
  defineController,
  held,
  type Plan,
  type Reader,
  readOnly,
  sameId,
} from "../../cosi/controller.ts";
import { CodedError, codeOf, formatError } from "../../base/errors.ts";
import type { Resource } from "../../cosi/resource.ts";
import type { RuntimeMachineStage as Stage } from "../../proto/gen/talos/resource/enums_pb.ts";
import { ClusterBootstrapStatus } from "../../resources/cluster/cluster_bootstrap_status.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineIdentity } from "../../resources/cluster/cluster_machine_identity.ts";
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import {
  ANNOTATION_SESSION_BOOT,
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MIRROR_MACHINE,
} from "../../resources/labels.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { TalosMachineStatus } from "../../resources/mirror/machine_status.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";
import { type ConfigDocument, parseDocuments } from "../../talos/config/documents.ts";
import { MAIN_KIND } from "../../talos/config/schema.ts";
import type { TalosApi } from "../../talos/api.ts";
import type { TalosTarget } from "../../talos/target.ts";
import { findTarget, gatherTargetFacts, TARGET_INPUTS, targetOf } from "../talos/target.ts";
import { planApply } from "./apply_plan.ts";
import type {
  ApplyAction,
  ConfigAction,
  ConfigStatusFacts,
  EtcdPeer,
  ResetAction,
} from "./config_facts.ts";
import { planReset } from "./reset_plan.ts";

/** The calls on machines that are made here. */
export type ConfigPort = Pick<
  TalosApi,
  | "readConfiguration"
  | "applyConfiguration"
  | "reset"
  | "etcdLeave"
  | "etcdMembers"
  | "etcdRemoveMember"
>;

const MAPPED = [
  sameId(ClusterMachineConfig),
  sameId(ClusterMachineConfigStatus),
  sameId(NodeForceDestroyRequest),
  sameId(MachineStatus),
  sameId(TalosSessionStatus),
  byLabel(TalosMachineStatus, LABEL_MIRROR_MACHINE),
  // A call that fails because of it is made again anyway.
  readOnly(ClusterBootstrapStatus),
  // Which member of etcd the machine is has to be known until it has left.
  held(ClusterMachineIdentity),
  ...TARGET_INPUTS,
] as const;

/** Creates the controller; a machine is in maintenance again before its ClusterMachine goes. */
export function clusterMachineConfigStatusController(
  { talos }: { readonly talos: ConfigPort },
): Controller {
  return defineController({
    name: "config.ClusterMachineConfigStatusController",
    primary: ClusterMachine,
    mapped: MAPPED,
    output: ClusterMachineConfigStatus,
    plansTeardown: true,
    gather: gatherConfigStatusFacts,
    plan: planClusterMachineConfigStatus,
    act: (_machine, action, { signal }) => {
      switch (action.kind) {
        case "apply":
          return apply(talos, action, signal);
        case "check":
          return requireUnconfigured(talos, action.target, signal);
        case "reset":
          return reset(talos, action, signal);
      }
    },
  });
}

async function gatherConfigStatusFacts(
  { metadata: { id, labels, phase } }: Resource<typeof ClusterMachine>,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<ConfigStatusFacts> {
  const machine = await reader.find(Machine, id);
  const isLeaving = phase === "tearingDown" && LABEL_CONTROL_PLANE_ROLE in labels;
  const others = isLeaving ? await otherEtcdMachines(id, labels[LABEL_CLUSTER] ?? "", reader) : [];
  const targetFacts = await gatherTargetFacts(id, reader);
  const boot = targetFacts.link?.spec.nodePublicKey ?? "";
  return {
    config: await reader.find(ClusterMachineConfig, id),
    current: await reader.find(ClusterMachineConfigStatus, id),
    forced: await reader.find(NodeForceDestroyRequest, id),
    status: await reader.find(MachineStatus, id),
    boot,
    isConnected: machine?.spec.connected ?? false,
    stage: await liveStage(id, boot, reader),
    otherEtcdMembers: others.length,
    etcdPeer: await findEtcdPeer(id, others, reader),
    target: machine && targetOf(machine, targetFacts),
  };
}

/** Control planes that stay in the cluster and its etcd; none before etcd was started. */
async function otherEtcdMachines(
  id: string,
  cluster: string,
  reader: Reader<typeof ClusterMachine | typeof ClusterBootstrapStatus>,
): Promise<readonly string[]> {
  const status = await reader.find(ClusterBootstrapStatus, cluster);
  if (status?.spec.bootstrapped !== true) return [];
  const labels = { [LABEL_CLUSTER]: cluster, [LABEL_CONTROL_PLANE_ROLE]: "" };
  const controlPlanes = await reader.list(ClusterMachine, { labels });
  return controlPlanes.map(({ metadata }) => metadata)
    .filter((metadata) => metadata.id !== id && metadata.phase === "running")
    .map((metadata) => metadata.id);
}

async function findEtcdPeer(
  id: string,
  others: readonly string[],
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<EtcdPeer | undefined> {
  for (const other of others) {
    const machine = await reader.find(Machine, other);
    if (machine?.spec.connected !== true) continue;
    return {
      target: await findTarget(machine, reader),
      memberId: await etcdMemberId(id, reader),
      otherMemberIds: await Promise.all(others.map((each) => etcdMemberId(each, reader))),
    };
  }
  return undefined;
}

async function etcdMemberId(
  id: string,
  reader: Reader<typeof ClusterMachineIdentity>,
): Promise<bigint> {
  return (await reader.find(ClusterMachineIdentity, id))?.spec.etcdMemberId ?? 0n;
}

/** What a session with the machine's present boot tells: one with another boot tells what was. */
async function liveStage(
  id: string,
  boot: string,
  reader: Reader<typeof TalosSessionStatus | typeof TalosMachineStatus>,
): Promise<Stage | undefined> {
  const session = await reader.find(TalosSessionStatus, id);
  const isLive = session?.spec.connected === true &&
    session.metadata.annotations[ANNOTATION_SESSION_BOOT] === boot;
  if (!isLive) return undefined;
  const copies = await reader.list(TalosMachineStatus, { labels: { [LABEL_MIRROR_MACHINE]: id } });
  return copies[0]?.spec.stage;
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

async function apply(
  talos: ConfigPort,
  { target, config, previousSha256 }: ApplyAction,
  signal: AbortSignal,
): Promise<void | { lastConfigError: string; clusterMachineConfigSha256: string }> {
  // An earlier call may have been made without this server living to see its answer.
  if (target.credentials !== undefined) {
    const present = await talos.readConfiguration(target, { signal });
    if (present !== undefined && isSameConfig(present, new TextDecoder().decode(config))) return;
  }
  try {
    await talos.applyConfiguration(target, config, { signal });
  } catch (error) {
    // A refused configuration is refused again: the user must see why and mend it.
    if (codeOf(error) !== "invalidArgument") throw error;
    return { lastConfigError: formatError(error), clusterMachineConfigSha256: previousSha256 };
  }
}

/** Compares documents by their content: a machine may print what it was given in another way. */
function isSameConfig(left: string, right: string): boolean {
  if (left === right) return true;
  const [present, wanted] = [documentsOf(left), documentsOf(right)];
  const values = (documents: readonly ConfigDocument[]) => documents.map(({ value }) => value);
  return present !== undefined && wanted !== undefined &&
    isDeepStrictEqual(values(present), values(wanted));
}

/** `undefined` for what is no configuration. */
function documentsOf(text: string): readonly ConfigDocument[] | undefined {
  try {
    return parseDocuments(text);
  } catch (error) {
    if (codeOf(error) !== "invalidArgument") throw error;
  }
}

/** Throws while the machine has a complete configuration: it is about to leave maintenance. */
async function requireUnconfigured(
  talos: ConfigPort,
  target: TalosTarget,
  signal: AbortSignal,
): Promise<void> {
  const documents = documentsOf(await talos.readConfiguration(target, { signal }) ?? "");
  if (documents !== undefined && documents.every(({ kind }) => kind !== MAIN_KIND)) return;
  throw new CodedError(
    "unavailable",
    "Cannot give the machine back yet: it has just taken its configuration",
  );
}

async function reset(
  talos: ConfigPort,
  { target, leavesEtcd, etcdPeer }: ResetAction,
  signal: AbortSignal,
): Promise<void> {
  if (leavesEtcd) await leaveEtcd(talos, target, etcdPeer, signal);
  await talos.reset(target, false, { signal });
}

/** Takes a machine out of etcd, through another member where it cannot do so itself. */
async function leaveEtcd(
  talos: ConfigPort,
  target: TalosTarget,
  peer: EtcdPeer | undefined,
  signal: AbortSignal,
): Promise<void> {
  try {
    await talos.etcdLeave(target, { signal });
  } catch (error) {
    if (peer === undefined) throw error;
    // It has left by a call whose answer was lost, or its etcd is too sick to leave.
    const members = await talos.etcdMembers(peer.target, { signal });
    const memberId = leftMember(members.map(({ id }) => id), peer);
    if (memberId !== undefined) await talos.etcdRemoveMember(peer.target, memberId, { signal });
  }
}

/** The member that a machine still has; throws where nobody can tell. */
function leftMember(members: readonly bigint[], peer: EtcdPeer): bigint | undefined {
  if (peer.memberId !== 0n) return members.find((id) => id === peer.memberId);
  // It never told which one it is: it is none only where all of them are somebody else's.
  if (members.every((id) => peer.otherMemberIds.includes(id))) return undefined;
  throw new CodedError(
    "failedPrecondition",
    "Cannot take the machine out of etcd: it never told its member, and etcd has one that no " +
      "other machine has; remove that member by hand, or create a NodeForceDestroyRequest",
  );
}
