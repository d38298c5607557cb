// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import type { Ref, ResourceType } from "../../cosi/resource.ts";
import type { AccessVerb } from "../../cosi/state/service.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { createPolicy } from "./policy.ts";

const READS: readonly AccessVerb[] = ["get", "list", "watch"];
const WRITES: readonly AccessVerb[] = ["create", "update", "teardown", "destroy"];

/** What nobody may see: the server's own secrets and those of clusters and machines. */
const HIDDEN = [
  "BMCConfigs.omni.sidero.dev",
  "BackupDatas.omni.sidero.dev",
  "ClusterMachineConfigs.omni.sidero.dev",
  "ClusterMachineEncryptionKeys.omni.sidero.dev",
  "ClusterMachineSecrets.omni.sidero.dev",
  "ClusterSecrets.omni.sidero.dev",
  "Configs.omni.sidero.dev",
  "DefaultJoinTokens.omni.sidero.dev",
  "EtcdBackupEncryptions.omni.sidero.dev",
  "ExtensionStatuses.runtime.talos.dev",
  "ImageFactoryAuths.omni.sidero.dev",
  "ImportedClusterSecrets.omni.sidero.dev",
  "JoinTokenStatuses.omni.sidero.dev",
  "JoinTokenUsages.omni.sidero.dev",
  "JoinTokens.omni.sidero.dev",
  "KernelCmdlines.runtime.talos.dev",
  "Kubeconfigs.omni.sidero.dev",
  "KubernetesResources.omni.sidero.dev",
  "MachineJoinConfigs.omni.sidero.dev",
  "NodeUniqueTokens.omni.sidero.dev",
  "SecretRotations.omni.sidero.dev",
  "TalosConfigs.omni.sidero.dev",
];

/** What clients write: the users' types, and those in which a provider answers. */
const WRITABLE = [
  "AccessPolicies.omni.sidero.dev",
  "Clusters.omni.sidero.dev",
  "ConfigPatchRequests.omni.sidero.dev",
  "ConfigPatches.omni.sidero.dev",
  "EtcdBackupS3Configs.omni.sidero.dev",
  "EtcdManualBackups.omni.sidero.dev",
  "ExtensionsConfigurations.omni.sidero.dev",
  "GRPCTunnelConfigs.omni.sidero.dev",
  "InfraMachineBMCConfigs.omni.sidero.dev",
  "InfraMachineConfigs.omni.sidero.dev",
  "InfraMachineStatuses.omni.sidero.dev",
  "InfraProviderHealthStatuses.omni.sidero.dev",
  "InfraProviderStatuses.omni.sidero.dev",
  "InstallationMediaConfigs.omni.sidero.dev",
  "KernelArgs.omni.sidero.dev",
  "KubernetesHealthChecks.omni.sidero.dev",
  "KubernetesManifestGroups.omni.sidero.dev",
  "MachineClasses.omni.sidero.dev",
  "MachineInstallDiskConfigs.omni.sidero.dev",
  "MachineLabels.omni.sidero.dev",
  "MachineRequestSets.omni.sidero.dev",
  "MachineRequestStatuses.omni.sidero.dev",
  "MachineRequests.omni.sidero.dev",
  "MachineSetNodes.omni.sidero.dev",
  "MachineSets.omni.sidero.dev",
  "NodeForceDestroyRequests.omni.sidero.dev",
  "RotateKubernetesCAs.omni.sidero.dev",
  "RotateTalosCAs.omni.sidero.dev",
  "SAMLLabelRules.omni.sidero.dev",
];

/** Read-only types that the description of the system names, beside all outputs of controllers. */
const READ_ONLY = [
  "BackendStatuses.batuta.altlinux.org",
  "ConnectionParams.omni.sidero.dev",
  "ControllerWaits.batuta.altlinux.org",
  "Controllers.batuta.altlinux.org",
  "FeaturesConfigs.omni.sidero.dev",
  "InfraMachineRegistrations.omni.sidero.dev",
  "InfraProviders.omni.sidero.dev",
  "LinkStatuses.omni.sidero.dev",
  "Links.omni.sidero.dev",
  "LoadBalancerStatuses.omni.sidero.dev",
  "MachineStatusSnapshots.omni.sidero.dev",
  "MachineStatuses.omni.sidero.dev",
  "Machines.omni.sidero.dev",
  "Namespaces.meta.cosi.dev",
  "NodeUniqueTokenStatuses.omni.sidero.dev",
  "ProviderJoinConfigs.omni.sidero.dev",
  "ResourceDefinitions.meta.cosi.dev",
  "SiderolinkAPIConfigs.omni.sidero.dev",
  "SysVersions.system.sidero.dev",
];

const PEER = { remoteAddress: "127.0.0.1", remotePort: 1 };
const policy = createPolicy({ types: CATALOGUE, peek: () => undefined });

function isAllowed(verb: AccessVerb, ref: Ref): boolean {
  try {
    policy.check(verb, ref, PEER);
    return true;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    strictEqual(error.code, "permissionDenied");
    strictEqual(error.message.endsWith("not available over the API"), true, error.message);
    return false;
  }
}

function refOf(type: ResourceType): Ref {
  return { namespace: type.namespace, type: type.type, id: "a" };
}

Deno.test("createPolicy() decides every verb of every type as the lists say", () => {
  const hidden = CATALOGUE.filter(({ access }) => access === "hidden").map(({ type }) => type);
  deepStrictEqual(hidden.toSorted(), HIDDEN);
  const writable = CATALOGUE.filter(({ access }) => typeof access === "object")
    .map(({ type }) => type);
  deepStrictEqual(writable.toSorted(), WRITABLE);
  for (const type of CATALOGUE) {
    const ref = refOf(type);
    const expectRead = !HIDDEN.includes(type.type);
    const expectWrite = WRITABLE.includes(type.type);
    for (const verb of READS) strictEqual(isAllowed(verb, ref), expectRead, `${verb} ${ref.type}`);
    for (const verb of WRITES) {
      strictEqual(isAllowed(verb, ref), expectWrite, `${verb} ${ref.type}`);
    }
  }
});

Deno.test("createPolicy() lets the named read-only types be read", () => {
  const types = new Map(CATALOGUE.map((type) => [type.type, type]));
  for (const name of READ_ONLY) strictEqual(types.get(name)?.access, "readOnly", name);
});

Deno.test("createPolicy() leaves types that nobody declared to clients", () => {
  const ref = { namespace: "infra-provider:x", type: "M.x.infraprovider.sidero.dev", id: "a" };
  for (const verb of [...READS, ...WRITES]) strictEqual(isAllowed(verb, ref), true, verb);
});

Deno.test("createPolicy() keeps clients from writing copies and definitions of any type", () => {
  for (const namespace of ["talos-mirror", "talos-mirror-types", "meta"]) {
    const ref = { namespace, type: "Anything.example.org", id: "a" };
    for (const verb of READS) strictEqual(isAllowed(verb, ref), true, `${verb} ${namespace}`);
    for (const verb of WRITES) strictEqual(isAllowed(verb, ref), false, `${verb} ${namespace}`);
  }
});

Deno.test("createPolicy() hides a type in every namespace", () => {
  const ref = { namespace: "elsewhere", type: "KernelCmdlines.runtime.talos.dev", id: "a" };
  for (const verb of [...READS, ...WRITES]) strictEqual(isAllowed(verb, ref), false, verb);
});
