// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The resource types that a Talos machine knows, with or without content.
 *
 * @module
 */

import { create, toBinary } from "@bufbuild/protobuf";
import {
  type ResourceDefinitionSpec,
  ResourceDefinitionSpec_Sensitivity as Sensitivity,
  ResourceDefinitionSpecSchema,
} from "../proto/gen/cosi/meta_pb.ts";
import { MetadataSchema, type Resource, ResourceSchema } from "../proto/gen/cosi/resource_pb.ts";
import { writeYaml } from "../talos/config/yaml_write.ts";
import { isRecentTalos } from "./versions.ts";

/** One type as a machine serves it. */
export interface MachineKind {
  readonly namespace: string;
  readonly type: string;
  /** Only an administrator may read it. */
  readonly sensitive: boolean;
  /** First known to Talos 1.14. */
  readonly recent: boolean;
}

// By namespace; "!" marks a sensitive type and "+" one that Talos 1.13 does not have.
const TYPES: Readonly<Record<string, string>> = {
  cluster: `
    Affiliates.cluster.talos.dev Identities.cluster.talos.dev Infos.cluster.talos.dev
    Members.cluster.talos.dev
  `,
  config: `
    DiscoveryConfigs.cluster.talos.dev! KubeSpanConfigs.kubespan.talos.dev!
    KubernetesAccessConfigs.cluster.talos.dev MachineConfigs.config.talos.dev!
    MachineTypes.config.talos.dev SiderolinkConfigs.siderolink.talos.dev!
    SiderolinkStatuses.siderolink.talos.dev SiderolinkTunnels.siderolink.talos.dev!
  `,
  containers: `
    ContainerImageStatuses.containers.talos.dev+ ContainerInstanceSpecs.containers.talos.dev+
    ContainerSpecs.containers.talos.dev+
  `,
  controlplane: `
    APIServerConfigs.kubernetes.talos.dev! AdmissionControlConfigs.kubernetes.talos.dev
    AuditPolicyConfigs.kubernetes.talos.dev! AuthenticationConfigs.kubernetes.talos.dev!+
    AuthorizationConfigs.kubernetes.talos.dev! BootstrapManifestsConfigs.kubernetes.talos.dev
    ConfigStatuses.kubernetes.talos.dev ControllerManagerConfigs.kubernetes.talos.dev
    Endpoints.kubernetes.talos.dev ExtraManifestsConfigs.kubernetes.talos.dev
    ManifestStatuses.kubernetes.talos.dev Manifests.kubernetes.talos.dev
    SchedulerConfigs.kubernetes.talos.dev SecretStatuses.kubernetes.talos.dev
  `,
  cri: `
    BaseRuntimeSpecConfigs.cri.talos.dev+ CustomizationConfigs.cri.talos.dev!+
    ImageCacheConfigs.cri.talos.dev RegistryConfigs.cri.talos.dev! SeccompProfiles.cri.talos.dev
  `,
  etcd: `
    EtcdConfigs.etcd.talos.dev EtcdMembers.etcd.talos.dev EtcdSpecs.etcd.talos.dev
    PKIStatuses.etcd.talos.dev
  `,
  files: `
    EtcFileSpecs.files.talos.dev! EtcFileStatuses.files.talos.dev
  `,
  hardware: `
    CPUCores.hardware.talos.dev+ MemoryModules.hardware.talos.dev PCIDevices.hardware.talos.dev
    PCIDriverRebindConfigs.runtime.talos.dev PCIDriverRebindStatuses.runtime.talos.dev
    PCRStatuses.hardware.talos.dev Processors.hardware.talos.dev
    SystemInformations.hardware.talos.dev
  `,
  k8s: `
    EtcdEncryptionConfigs.kubernetes.talos.dev!+ KubePrismConfigs.kubernetes.talos.dev
    KubePrismEndpoints.kubernetes.talos.dev KubePrismStatuses.kubernetes.talos.dev
    KubeletConfigs.kubernetes.talos.dev! KubeletKubeconfigs.kubernetes.talos.dev
    KubeletLifecycles.kubernetes.talos.dev KubeletSpecs.kubernetes.talos.dev!
    KubeletStatuses.kubernetes.talos.dev+ NodeAnnotationSpecs.k8s.talos.dev!
    NodeCordonedSpecs.k8s.talos.dev! NodeIPConfigs.kubernetes.talos.dev
    NodeIPs.kubernetes.talos.dev NodeLabelSpecs.k8s.talos.dev! NodeStatuses.kubernetes.talos.dev
    NodeTaintSpecs.k8s.talos.dev! Nodenames.kubernetes.talos.dev
    StaticPodServerStatuses.kubernetes.talos.dev StaticPodStatuses.kubernetes.talos.dev
    StaticPods.kubernetes.talos.dev
  `,
  kubespan: `
    KubeSpanEndpoints.kubespan.talos.dev KubeSpanIdentities.kubespan.talos.dev!
    KubeSpanPeerSpecs.kubespan.talos.dev KubeSpanPeerStatuses.kubespan.talos.dev
  `,
  network: `
    AddressSpecs.net.talos.dev AddressStatuses.net.talos.dev BGPInstanceConfigs.net.talos.dev+
    BGPPeerStatuses.net.talos.dev+ DNSResolveCaches.net.talos.dev DNSUpstreams.net.talos.dev
    DeviceConfigSpecs.net.talos.dev! EthernetSpecs.net.talos.dev EthernetStatuses.net.talos.dev
    HardwareAddresses.net.talos.dev HostDNSConfigs.net.talos.dev HostnameSpecs.net.talos.dev
    HostnameStatuses.net.talos.dev LinkAliasSpecs.net.talos.dev LinkRefreshes.net.talos.dev
    LinkSpecs.net.talos.dev! LinkStatuses.net.talos.dev NetworkStatuses.net.talos.dev
    NfTablesChains.net.talos.dev NodeAddressFilters.net.talos.dev
    NodeAddressSortAlgorithms.net.talos.dev NodeAddresses.net.talos.dev
    OperatorSpecs.net.talos.dev! PlatformConfigs.net.talos.dev ProbeSpecs.net.talos.dev
    ProbeStatuses.net.talos.dev ResolverSpecs.net.talos.dev ResolverStatuses.net.talos.dev
    RouteSpecs.net.talos.dev RouteStatuses.net.talos.dev RoutingRuleSpecs.net.talos.dev
    RoutingRuleStatuses.net.talos.dev StaticHosts.net.talos.dev+ TimeServerSpecs.net.talos.dev
    TimeServerStatuses.net.talos.dev
  `,
  perf: `
    CPUStats.perf.talos.dev MemoryStats.perf.talos.dev
  `,
  runtime: `
    APIServiceConfigs.runtime.talos.dev AcquireConfigSpecs.v1alpha1.talos.dev
    AcquireConfigStatuses.v1alpha1.talos.dev AdjtimeStatuses.v1alpha1.talos.dev
    BlockDevices.block.talos.dev BlockSymlinks.block.talos.dev BootIDs.runtime.talos.dev+
    BootedEntries.talos.dev DevicesStatuses.runtime.talos.dev Diagnostics.runtime.talos.dev
    DiscoveredVolumes.block.talos.dev DiscoveryRefreshRequests.block.talos.dev
    DiscoveryRefreshStatuses.block.talos.dev Disks.block.talos.dev
    Environments.runtime.talos.dev EventSinkConfigs.runtime.talos.dev
    ExtensionServiceConfigStatuses.runtime.talos.dev ExtensionServiceConfigs.runtime.talos.dev!
    ExtensionStatuses.runtime.talos.dev FSScrubSchedules.block.talos.dev+
    FSScrubStatuses.block.talos.dev+ ImageFactorySchematics.runtime.talos.dev+
    KernelCmdlines.runtime.talos.dev KernelModuleSpecs.runtime.talos.dev
    KernelModuleStatuses.runtime.talos.dev+ KernelParamDefaultSpecs.runtime.talos.dev
    KernelParamSpecs.runtime.talos.dev KernelParamStatuses.runtime.talos.dev
    KmsgLogConfigs.runtime.talos.dev LoadedKernelModules.runtime.talos.dev
    MachineResetSignals.runtime.talos.dev MachineStatuses.runtime.talos.dev
    MaintenanceServiceConfigs.runtime.talos.dev MaintenanceServiceRequests.runtime.talos.dev
    MetaKeys.runtime.talos.dev MetaLoads.runtime.talos.dev MountRequests.block.talos.dev
    MountStatuses.block.talos.dev MountStatuses.runtime.talos.dev
    NTPStatuses.v1alpha1.talos.dev+ OOMActions.talos.dev! PlatformMetadatas.talos.dev
    RebootRequests.runtime.talos.dev+ SBOMItems.talos.dev SecurityStates.talos.dev
    ServicePIDs.runtime.talos.dev Services.v1alpha1.talos.dev SwapStatuses.block.talos.dev
    SystemDisks.block.talos.dev TimeStatuses.v1alpha1.talos.dev
    UnattendedInstallStatuses.runtime.talos.dev+ UniqueMachineTokens.runtime.talos.dev
    UserDiskConfigStatuses.block.talos.dev Versions.runtime.talos.dev
    VolumeConfigs.block.talos.dev! VolumeLifecycles.block.talos.dev
    VolumeMountRequests.block.talos.dev VolumeMountStatuses.block.talos.dev
    VolumeStatuses.block.talos.dev VolumeTrimSchedules.block.talos.dev+
    WatchdogTimerConfigs.runtime.talos.dev WatchdogTimerStatuses.runtime.talos.dev
    ZswapStatuses.block.talos.dev
  `,
  secrets: `
    ApiCertificates.secrets.talos.dev! CertSANs.secrets.talos.dev!
    EncryptionSalts.secrets.talos.dev! EtcdRootSecrets.secrets.talos.dev!
    EtcdSecrets.secrets.talos.dev! KubeletSecrets.secrets.talos.dev!
    KubernetesDynamicCerts.secrets.talos.dev! KubernetesRootSecrets.secrets.talos.dev!
    KubernetesSecrets.secrets.talos.dev! MaintenanceRootSecrets.secrets.talos.dev!
    OSRootSecrets.secrets.talos.dev! TrustdCertificates.secrets.talos.dev!
  `,
  security: `
    ImageVerificationRules.security.talos.dev TUFTrustedRoots.security.talos.dev
  `,
  storage: `
    LVMLogicalVolumeSpecs.storage.talos.dev+ LVMLogicalVolumeStatuses.storage.talos.dev+
    LVMPhysicalVolumeSpecs.storage.talos.dev+ LVMPhysicalVolumeStatuses.storage.talos.dev+
    LVMRefreshRequests.storage.talos.dev+ LVMValidationErrors.storage.talos.dev+
    LVMVolumeGroupSpecs.storage.talos.dev+ LVMVolumeGroupStatuses.storage.talos.dev+
    MDArraySpecs.storage.talos.dev+ MDArrayStatuses.storage.talos.dev+
    MDRefreshRequests.storage.talos.dev+
  `,
};

/** All types, by their name. */
export const MACHINE_KINDS: ReadonlyMap<string, MachineKind> = new Map(
  Object.entries(TYPES).flatMap(([namespace, words]) =>
    words.trim().split(/\s+/).map((word): [string, MachineKind] => {
      const type = word.replace(/[!+]+$/, "");
      const marks = word.slice(type.length);
      return [type, {
        namespace,
        type,
        sensitive: marks.includes("!"),
        recent: marks.includes("+"),
      }];
    })
  ),
);

/** The namespaces of a machine: those of its types and `meta`, which describes them. */
export const MACHINE_NAMESPACES: ReadonlySet<string> = new Set([
  "meta",
  "cluster-raw",
  ...Object.keys(TYPES),
]);

/** The type whose resources describe all types. */
export const RESOURCE_DEFINITION = "ResourceDefinitions.meta.cosi.dev";

const definitions = new Map<boolean, ReadonlyMap<string, Resource>>();

/** The type of this name, when Talos of this version has it. */
export function findMachineKind(type: string, version: string): MachineKind | undefined {
  const kind = MACHINE_KINDS.get(type);
  return kind !== undefined && (!kind.recent || isRecentTalos(version)) ? kind : undefined;
}

/** The descriptions of all types, by their IDs; made once and shared by all machines. */
export function resourceDefinitions(version: string): ReadonlyMap<string, Resource> {
  const isRecent = isRecentTalos(version);
  const known = definitions.get(isRecent);
  if (known !== undefined) return known;
  const made = new Map(
    [...MACHINE_KINDS.values()].filter(({ recent }) => isRecent || !recent)
      .map((kind) => [kind.type.toLowerCase(), definitionOf(kind)]),
  );
  definitions.set(isRecent, made);
  return made;
}

function definitionOf({ type, namespace, sensitive }: MachineKind): Resource {
  const plural = type.split(".")[0] ?? "";
  const displayType = singular(plural);
  const allAliases = [plural.toLowerCase(), displayType.toLowerCase()];
  const spec: ResourceDefinitionSpec = create(ResourceDefinitionSpecSchema, {
    resourceType: type,
    displayType,
    defaultNamespace: namespace,
    aliases: allAliases.slice(1),
    allAliases,
    sensitivity: sensitive ? Sensitivity.SENSITIVE : Sensitivity.NON_SENSITIVE,
  });
  return create(ResourceSchema, {
    metadata: create(MetadataSchema, {
      namespace: "meta",
      type: RESOURCE_DEFINITION,
      id: type.toLowerCase(),
      version: "1",
      owner: "meta",
      phase: "running",
    }),
    spec: {
      protoSpec: toBinary(ResourceDefinitionSpecSchema, spec),
      yamlSpec: writeYaml({
        type,
        displayType,
        defaultNamespace: namespace,
        aliases: spec.aliases,
        allAliases,
        printColumns: [],
        ...(sensitive ? { sensitivity: "sensitive" } : {}),
      }),
    },
  });
}

function singular(plural: string): string {
  if (plural.endsWith("ies")) return `${plural.slice(0, -3)}y`;
  if (/(?:sses|uses|xes)$/.test(plural)) return plural.slice(0, -2);
  return plural.replace(/s$/, "");
}
