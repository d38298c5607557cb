// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of user types that need more than the resource itself: others that it names, and the content
 * of configurations.
 *
 * @module
 */

import { CodedError, formatError } from "../../base/errors.ts";
import type { Metadata, Resource, ResourceType, SpecOf } from "../../cosi/resource.ts";
import { parseSelector } from "../../cosi/state/label_selector.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import { isControlPlane } from "../../resources/cluster/machine_set_rules.ts";
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import { KubernetesManifestGroup } from "../../resources/kubernetes/kubernetes_manifest_group.ts";
import {
  ANNOTATION_TALOS_VERSION,
  LABEL_CLUSTER,
  LABEL_MACHINE_SET,
} from "../../resources/labels.ts";
import { LABEL_INFRA_PROVIDER_ID } from "../../resources/labels.ts";
import { MachineClass } from "../../resources/machine/machine_class.ts";
import { MachineInstallDiskConfig } from "../../resources/machine/machine_install_disk_config.ts";
import { ConfigPatchRequest } from "../../resources/provider/config_patch_request.ts";
import { InfraProvider } from "../../resources/provider/infra_provider.ts";
import { MachineRequest } from "../../resources/provider/machine_request.ts";
import { applyRules, hasChanged, parseVersion, type Refuse } from "../../resources/rules.ts";
import { TalosVersion } from "../../resources/talos/talos_version.ts";
import { celProblem } from "../../talos/config/cel_check.ts";
import { checkUserPatch } from "../../talos/config/forbidden.ts";
import type { Decompressor } from "../compression/dictionary.ts";

/** Reads the state at this moment. */
export interface ReferenceReader {
  find<T extends ResourceType>(type: T, id: string): Resource<T> | undefined;
  /** The resources whose labels have these values. */
  list<T extends ResourceType>(
    type: T,
    labels?: Readonly<Record<string, string>>,
  ): readonly Resource<T>[];
}

/** What rules may use. */
export interface RuleContext extends Decompressor {
  readonly reader: ReferenceReader;
}

/** A change of a resource of one type. */
export interface TypedChange<T extends ResourceType> {
  readonly verb: "create" | "update" | "teardown" | "destroy";
  readonly metadata: Metadata;
  readonly spec: SpecOf<T>;
  readonly stored?: Resource<T> | undefined;
}

/** Checks a change of any type; the policy hands each type's changes to its own check. */
export type ReferenceCheck = (change: TypedChange<ResourceType>, context: RuleContext) => void;

type TypedRule<T extends ResourceType> = (
  change: TypedChange<T>,
  refuse: Refuse,
  context: RuleContext,
) => void;

function check<T extends ResourceType>(
  type: T,
  rule: TypedRule<T>,
): readonly [string, ReferenceCheck] {
  return [type.type, (change, context) => {
    // The policy looks the check up by the type of the change.
    const typed = change as TypedChange<T>;
    applyRules(typed, [(own, refuse) => rule(own, refuse, context)]);
  }];
}

function isWrite({ verb }: { readonly verb: string }): boolean {
  return verb === "create" || verb === "update";
}

/** Whether a field's value is new; one that is stored was accepted before. */
function isNew<T extends ResourceType>(
  { spec, stored }: TypedChange<T>,
  field: (spec: SpecOf<T>) => unknown,
): boolean {
  return stored === undefined || hasChanged(field(stored.spec), field(spec));
}

const checkCluster: TypedRule<typeof Cluster> = (change, refuse, { reader }) => {
  if (!isWrite(change)) return;
  if (!isNew(change, ({ talosVersion, kubernetesVersion }) => [talosVersion, kubernetesVersion])) {
    return;
  }
  const { talosVersion, kubernetesVersion } = change.spec;
  const offered = reader.find(TalosVersion, talosVersion);
  if (offered === undefined) {
    const known = reader.list(TalosVersion).map(({ metadata }) => metadata.id).join(", ");
    refuse(
      "spec.talosVersion",
      known === ""
        ? "is not offered: the configuration of the server names no talosVersions"
        : `is not offered; offered are ${known}`,
      talosVersion,
    );
    return;
  }
  const { compatibleKubernetesVersions: compatible } = offered.spec;
  if (!compatible.includes(kubernetesVersion)) {
    const rule = `does not run on ${talosVersion}, which runs ${compatible.join(", ")}`;
    refuse("spec.kubernetesVersion", rule, kubernetesVersion);
  }
  checkDowngrade(change, offered, refuse, reader);
};

function checkDowngrade(
  { metadata, spec }: TypedChange<typeof Cluster>,
  offered: Resource<typeof TalosVersion>,
  refuse: Refuse,
  reader: ReferenceReader,
): void {
  const initial = reader.find(ClusterConfigVersion, metadata.id)?.spec.version.replace(/^v/, "");
  const first = parseVersion(initial ?? "");
  const wanted = parseVersion(
    offered.metadata.annotations[ANNOTATION_TALOS_VERSION] ?? spec.talosVersion,
  );
  if (first === undefined || wanted === undefined) return;
  if (wanted.major > first.major || (wanted.major === first.major && wanted.minor >= first.minor)) {
    return;
  }
  const rule = `must not be older than ${initial}, with which the cluster was created`;
  refuse("spec.talosVersion", rule, spec.talosVersion);
}

function findCluster(
  { verb, metadata }: { readonly verb: string; readonly metadata: Metadata },
  refuse: Refuse,
  reader: ReferenceReader,
): void {
  if (verb !== "create") return;
  const name = metadata.labels[LABEL_CLUSTER] ?? "";
  const cluster = reader.find(Cluster, name);
  const field = `metadata.labels["${LABEL_CLUSTER}"]`;
  if (cluster === undefined) refuse(field, "must name a cluster that exists", name);
  else if (cluster.metadata.phase === "tearingDown") {
    refuse(field, "must not name a cluster that is being removed", name);
  }
}

const checkMachineSet: TypedRule<typeof MachineSet> = (change, refuse, { reader }) => {
  if (!isWrite(change)) return;
  findCluster(change, refuse, reader);
  const { metadata, spec, stored } = change;
  const cluster = metadata.labels[LABEL_CLUSTER] ?? "";
  if (isControlPlane(metadata)) {
    const other = reader.list(MachineSet, { [LABEL_CLUSTER]: cluster })
      .find((set) => isControlPlane(set.metadata) && set.metadata.id !== metadata.id);
    if (other !== undefined) {
      refuse("metadata.labels", `must not name a second control plane beside ${other.metadata.id}`);
    }
  }
  const allocation = spec.machineAllocation ?? spec.machineClass;
  if (allocation !== undefined && reader.find(MachineClass, allocation.name) === undefined) {
    const rule = "must name a machine class that exists";
    refuse("spec.machineAllocation.name", rule, allocation.name);
  }
  const before = stored?.spec.machineAllocation ?? stored?.spec.machineClass;
  if (stored === undefined || (before === undefined) === (allocation === undefined)) return;
  if (reader.list(MachineSetNode, { [LABEL_MACHINE_SET]: metadata.id }).length === 0) return;
  const rule = "must not change between a class and single machines while the set has machines";
  refuse("spec.machineAllocation", rule);
};

const checkMachineSetNode: TypedRule<typeof MachineSetNode> = (change, refuse, { reader }) => {
  if (change.verb !== "create") return;
  const { metadata } = change;
  const name = metadata.labels[LABEL_MACHINE_SET] ?? "";
  const set = reader.find(MachineSet, name);
  const field = `metadata.labels["${LABEL_MACHINE_SET}"]`;
  if (set === undefined) return refuse(field, "must name a machine set that exists", name);
  if (set.metadata.phase === "tearingDown") {
    refuse(field, "must not name a machine set that is being removed", name);
  }
  if (set.metadata.labels[LABEL_CLUSTER] !== metadata.labels[LABEL_CLUSTER]) {
    refuse(field, "must name a set of the same cluster", name);
  }
  if (isControlPlane(set.metadata) !== isControlPlane(metadata)) {
    refuse("metadata.labels", `must name the same role as the set ${name}`);
  }
  const allocation = set.spec.machineAllocation ?? set.spec.machineClass;
  if (allocation === undefined) return;
  refuse(field, `must not name a set whose machines come from class ${allocation.name}`, name);
};

function textOf(
  spec: { readonly data: string; readonly compressedData: Uint8Array },
  refuse: Refuse,
  decompressor: Decompressor,
): string | undefined {
  if (spec.compressedData.length === 0) return spec.data;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(
      decompressor.decompress(spec.compressedData),
    );
  } catch (error) {
    const reason = error instanceof CodedError ? error.message : "it is no UTF-8 text";
    refuse("spec.compressedData", `cannot be read: ${reason}`);
    return undefined;
  }
}

const checkConfigPatch: TypedRule<typeof ConfigPatch> = (change, refuse, context) => {
  if (!isWrite(change)) return;
  if (!isNew(change, ({ data, compressedData }) => [data, compressedData.toBase64()])) return;
  const text = textOf(change.spec, refuse, context);
  if (text === undefined) return;
  try {
    checkUserPatch(text);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    refuse("spec.data", formatError(error));
  }
};

const checkCompressed: TypedRule<
  typeof ConfigPatchRequest | typeof KubernetesManifestGroup
> = (change, refuse, context) => {
  if (isWrite(change)) textOf(change.spec, refuse, context);
};

const checkMachineClass: TypedRule<typeof MachineClass> = (change, refuse, { reader }) => {
  if (isWrite(change)) {
    for (const [index, selector] of change.spec.matchLabels.entries()) {
      try {
        parseSelector(selector);
      } catch (error) {
        refuse(`spec.matchLabels[${index}]`, `cannot be read: ${formatError(error)}`);
      }
    }
    return;
  }
  const { id } = change.metadata;
  const users = reader.list(MachineSet)
    .filter(({ spec }) => (spec.machineAllocation ?? spec.machineClass)?.name === id)
    .map(({ metadata }) => metadata.id);
  if (users.length > 0) refuse("the machine class", `is used by ${users.join(", ")}`);
};

const checkDiskSelector: TypedRule<typeof MachineInstallDiskConfig> = ({ verb, spec }, refuse) => {
  if (!isWrite({ verb }) || spec.diskSelector === "") return;
  const problem = celProblem(spec.diskSelector);
  if (problem !== undefined) {
    refuse("spec.diskSelector", `must be a CEL expression: ${problem}`, spec.diskSelector);
  }
};

const checkForceDestroy: TypedRule<typeof NodeForceDestroyRequest> = (
  { verb, metadata },
  refuse,
  { reader },
) => {
  if (verb !== "create" || reader.find(ClusterMachine, metadata.id) !== undefined) return;
  refuse("metadata.id", "must be the UUID of a machine in a cluster", metadata.id);
};

const checkMachineRequest: TypedRule<typeof MachineRequest> = (
  { verb, metadata },
  refuse,
  { reader },
) => {
  if (verb !== "create") return;
  const provider = metadata.labels[LABEL_INFRA_PROVIDER_ID] ?? "";
  if (reader.find(InfraProvider, provider) !== undefined) return;
  const field = `metadata.labels["${LABEL_INFRA_PROVIDER_ID}"]`;
  refuse(field, "must name a provider that the configuration declares", provider);
};

/** The checks, by type. */
export const REFERENCE_CHECKS: ReadonlyMap<string, ReferenceCheck> = new Map([
  check(Cluster, checkCluster),
  check(MachineSet, checkMachineSet),
  check(MachineSetNode, checkMachineSetNode),
  check(ConfigPatch, checkConfigPatch),
  check(ConfigPatchRequest, checkCompressed),
  check(KubernetesManifestGroup, checkCompressed),
  check(MachineClass, checkMachineClass),
  check(MachineInstallDiskConfig, checkDiskSelector),
  check(NodeForceDestroyRequest, checkForceDestroy),
  check(MachineRequest, checkMachineRequest),
]);
