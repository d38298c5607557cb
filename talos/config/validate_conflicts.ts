// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Conflicts: settings in a document that the main document has too, and rules about the
 * configuration as a whole.
 *
 * @module
 */

import { addError, type Checks, isTrue, pick, pickEntries, pickList, pickText } from "./checks.ts";
import type { ConfigModel } from "./config_load.ts";
import type { Fields } from "./decode.ts";
import { MAIN_KIND } from "./schema.ts";

/** A setting of the main document that a document of its own replaces. */
type Conflict = readonly [
  /** Path in the main document; also where the finding points. */
  path: string,
  message: string,
  /** When the value there is a conflict; presence alone, unless said otherwise. */
  isConflict?: (value: unknown, document: Fields) => boolean,
];

function isNotEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value instanceof Map ? value.size > 0 : value !== "" && value !== 0 && value !== false;
}

const NETWORK_PLEASE = "Please remove it and use only the new";

/** Conflicts by kind; the first that applies is reported. */
const CONFLICTS: Readonly<Record<string, readonly Conflict[]>> = {
  DiscoveryIdentityConfig: (["cluster.id", "cluster.secret"] as const).map((path) => [
    path,
    "cluster identity is already configured in .cluster.id/.cluster.secret of the v1alpha1 config",
    isNotEmpty,
  ]),
  DiscoveryServiceConfig: [[
    "cluster.discovery",
    "discovery service is already configured in .cluster.discovery of the v1alpha1 config",
  ]],
  HostnameConfig: [
    ["machine.network.hostname", "static hostname is already set in v1alpha1 config", isNotEmpty],
    [
      "machine.features.stableHostname",
      "stable hostname is already set in v1alpha1 config",
      isNotEmpty,
    ],
  ],
  ImageCacheConfig: [[
    "machine.features.imageCache",
    "image cache config is already set in v1alpha1 config",
  ]],
  KubeAPIServerCAConfig: [[
    "cluster.ca",
    "kube-apiserver CA is already set in v1alpha1 config (.cluster.ca)",
  ]],
  KubeAPIServerConfig: [
    [
      "cluster.apiServer",
      "kube-apiserver config is already set in v1alpha1 config (.cluster.apiServer)",
    ],
    [
      "cluster.controlPlane.localAPIServerPort",
      "kube-apiserver API port is already set in v1alpha1 config (.cluster.controlPlane.localAPIServerPort)",
      isNotEmpty,
    ],
  ],
  KubeAdmissionControlConfig: [[
    "cluster.apiServer.admissionControl",
    "admission control plugin config is already set in v1alpha1 config",
    isNotEmpty,
  ]],
  KubeAggregatorCAConfig: [[
    "cluster.aggregatorCA",
    "kube-apiserver aggregator CA is already set in v1alpha1 config (.cluster.aggregatorCA), " +
    "please remove it and use the new KubeAggregatorCAConfig document instead",
  ]],
  KubeAuditPolicyConfig: [[
    "cluster.apiServer.auditPolicy",
    "audit policy config is already set in v1alpha1 config",
    isNotEmpty,
  ]],
  KubeAuthorizerConfig: [[
    "cluster.apiServer.admissionControl",
    "admission control plugin config is already set in v1alpha1 config",
    isNotEmpty,
  ]],
  KubeClusterConfig: [
    [
      "cluster.clusterName",
      "cluster name is already set in the v1alpha1 config (.cluster.clusterName). " +
      `${NETWORK_PLEASE} KubeClusterConfig document to avoid conflicts`,
      isNotEmpty,
    ],
    [
      "cluster.controlPlane.endpoint",
      "cluster endpoint is already set in the v1alpha1 config (.cluster.controlPlane.endpoint). " +
      `${NETWORK_PLEASE} KubeClusterConfig document to avoid conflicts`,
    ],
  ],
  KubeControllerManagerConfig: [
    [
      "cluster.controllerManager",
      "kube-controller-manager config is already set in v1alpha1 config (.cluster.controllerManager)",
    ],
    [
      "machine.controlPlane.controllerManager",
      "kube-controller-manager config is already set in v1alpha1 config (.machine.controlplane.controllerManager)",
    ],
  ],
  KubeCoreDNSConfig: [[
    "cluster.coreDNS",
    "CoreDNS config is already set in v1alpha1 config (.cluster.coreDNS)",
  ]],
  KubeCredentialProviderConfig: [[
    "machine.kubelet",
    "cannot use KubeCredentialProviderConfig with legacy kubelet configuration (.machine.kubelet)",
  ]],
  KubeEtcdEncryptionConfig: (["secretboxEncryptionSecret", "aescbcEncryptionSecret"] as const)
    .map((name) => [
      `cluster.${name}`,
      "etcd encryption config is already set in v1alpha1 config",
      isNotEmpty,
    ]),
  KubeFlannelCNIConfig: [[
    "cluster.network",
    "cluster network config in v1alpha1 config (.machine.cluster.network) can't be used with " +
    "KubeFlannelCNIConfig document, please remove it to avoid conflicts",
  ]],
  KubeNetworkConfig: [[
    "cluster.network",
    "cluster network config is already set in the v1alpha1 config (.machine.cluster.network). " +
    `${NETWORK_PLEASE} KubeNetworkConfig document to avoid conflicts`,
  ]],
  KubeNodeConfig: [
    ...["cluster.allowSchedulingOnControlPlanes", "cluster.allowSchedulingOnMasters"],
    ...["skipNodeRegistration", "registerWithFQDN", "nodeIP"].map((name) =>
      `machine.kubelet.${name}`
    ),
    ...["nodeLabels", "nodeAnnotations", "nodeTaints"].map((name) => `machine.${name}`),
  ].map((path) => [path, `.${path} is already set in v1alpha1 config`]),
  KubePrismConfig: [[
    "machine.features.kubePrism",
    "KubePrism config in v1alpha1 config (.machine.features.kubePrism) can't be used with " +
    "KubePrismConfig document, please remove it to avoid conflicts",
  ]],
  KubeProxyConfig: [[
    "cluster.proxy",
    "cluster proxy config in v1alpha1 config (.machine.cluster.proxy) can't be used with " +
    "KubeProxyConfig document, please remove it to avoid conflicts",
  ]],
  KubeSchedulerConfig: [
    [
      "cluster.scheduler",
      "kube-scheduler config is already set in v1alpha1 config (.cluster.scheduler)",
    ],
    [
      "machine.controlPlane.scheduler",
      "kube-scheduler config is already set in v1alpha1 config (.machine.controlplane.scheduler)",
    ],
  ],
  KubeServiceAccountConfig: [[
    "cluster.serviceAccount",
    "service account is already set in v1alpha1 config (.cluster.serviceAccount)",
  ]],
  KubeSpanConfig: [[
    "machine.network.kubespan",
    "kubespan is already configured in v1alpha1 machine.network.kubespan",
  ]],
  KubeTalosAPIAccessConfig: [[
    "machine.features.kubernetesTalosAPIAccess",
    ".machine.features.kubernetesTalosAPIAccess is already set in v1alpha1 config",
  ]],
  KubeletConfig: [[
    "machine.kubelet",
    "kubelet config is already set in v1alpha1 config (.machine.kubelet)",
  ]],
  ResolverConfig: [
    [
      "machine.network.searchDomains",
      ".machine.network.searchDomains is already set in v1alpha1 config",
    ],
    [
      "machine.network.nameservers",
      ".machine.network.nameservers is already set in v1alpha1 config",
      isNotEmpty,
    ],
    [
      "machine.network.disableSearchDomain",
      ".machine.network.disableSearchDomain is already set in v1alpha1 config",
      isNotEmpty,
    ],
    [
      "machine.features.hostDNS",
      ".machine.features.hostDNS is already set in v1alpha1 config",
      (_, document) => pickEntries(document, "hostDNS").length > 0,
    ],
  ],
  TimeSyncConfig: [
    [
      "machine.time.disabled",
      "time sync cannot be disabled in both v1alpha1 and new-style configuration",
      isNotEmpty,
    ],
    [
      "machine.time.servers",
      "time servers cannot be specified in both v1alpha1 and new-style configuration",
      isNotEmpty,
    ],
    [
      "machine.time.bootTimeout",
      "boot timeout cannot be specified in both v1alpha1 and new-style configuration",
      isNotEmpty,
    ],
  ],
  UnattendedInstallConfig: [[
    "machine.install",
    "UnattendedInstallConfig config is incompatible with v1alpha1 config (.machine.install)",
  ]],
};

/** Finds settings that both the main document and another one make; paths are of the main one. */
export function checkConflicts(checks: Checks, model: ConfigModel): void {
  const main = model.find(({ kind }) => kind === MAIN_KIND)?.value;
  if (main === undefined) return;
  for (const { kind, name, value } of model) {
    if (kind === "VolumeConfig") checkVolumeConflict(checks, main, name, value);
    const conflict = CONFLICTS[kind]?.find(([path, , isConflict]) => {
      const setting = pick(main, path);
      return setting !== undefined && (isConflict?.(setting, value) ?? true);
    });
    if (conflict !== undefined) addError(checks, conflict[1], conflict[0]);
  }
}

function checkVolumeConflict(checks: Checks, main: Fields, name: string, value: Fields): void {
  if (name !== "STATE" && name !== "EPHEMERAL") return;
  const path = `machine.systemDiskEncryption.${name.toLowerCase()}`;
  if (pickEntries(value, "encryption").length === 0 || pick(main, path) === undefined) return;
  const message =
    `system disk encryption for "${name}" is configured in both v1alpha1.Config and VolumeConfig`;
  addError(checks, message, path);
}

/** Kinds that only control planes may have. */
const CONTROL_PLANE_KINDS: ReadonlySet<string> = new Set([
  "KubeAPIServerConfig",
  "KubeAdmissionControlConfig",
  "KubeAggregatorCAConfig",
  "KubeAuditPolicyConfig",
  "KubeAuthenticationConfig",
  "KubeAuthorizerConfig",
  "KubeControllerManagerConfig",
  "KubeCoreDNSConfig",
  "KubeEtcdEncryptionConfig",
  "KubeFlannelCNIConfig",
  "KubeProxyConfig",
  "KubeSchedulerConfig",
  "KubeServiceAccountConfig",
  "KubeTalosAPIAccessConfig",
]);

/** Checks rules about the configuration as a whole. */
export function checkWhole(checks: Checks, model: ConfigModel, isContainer: boolean): void {
  const main = model.find(({ kind }) => kind === MAIN_KIND)?.value;
  const of = (wanted: string) => model.find(({ kind }) => kind === wanted)?.value;
  const hostDns = pick(of("ResolverConfig"), "hostDNS") ?? pick(main, "machine.features.hostDNS");
  if (isContainer) checkContainer(checks, hostDns);
  const usesEncryptedDns = pickList(of("ResolverConfig"), "nameservers")
    .some((server) => !["", "Do53"].includes(pickText(server, "protocol")));
  if (usesEncryptedDns && !isTrue(hostDns, "enabled")) {
    addError(checks, "hostDNS must be enabled when using non-default DNS protocols");
  }
  const isDiscovering = checkDiscovery(checks, model, main);
  const isKubeSpanOn = isTrue(
    of("KubeSpanConfig") ?? pick(main, "machine.network.kubespan"),
    "enabled",
  );
  if (isKubeSpanOn && !isDiscovering) {
    addError(checks, "KubeSpan requires cluster discovery to be enabled");
  }
  const type = pickText(main, "machine.type");
  const isControlPlane = type === "controlplane" || type === "init";
  const runsApiServer = (of("KubeAPIServerCAConfig") ?? pick(main, "cluster.ca") ??
    pick(main, "cluster.acceptedCAs")) !== undefined;
  const encrypts = of("KubeEtcdEncryptionConfig") !== undefined ||
    pickText(main, "cluster.secretboxEncryptionSecret") !== "" ||
    pickText(main, "cluster.aescbcEncryptionSecret") !== "";
  if (isControlPlane && runsApiServer && !encrypts) {
    addError(
      checks,
      "etcd encryption config is required for control plane machines running kube-apiserver",
    );
  }
  const kinds = [...new Set(model.map(({ kind }) => kind))]
    .filter((kind) => CONTROL_PLANE_KINDS.has(kind)).sort();
  if (kinds.length > 0 && !isControlPlane) {
    addError(
      checks,
      `the following document kinds are only allowed on control plane machines: [${
        kinds.join(" ")
      }]`,
    );
  }
}

function checkContainer(checks: Checks, hostDns: unknown): void {
  if (hostDns === undefined) {
    addError(checks, "hostDNS config is required in container mode");
    return;
  }
  if (!isTrue(hostDns, "enabled")) addError(checks, "hostDNS must be enabled in container mode");
  if (!isTrue(hostDns, "forwardKubeDNSToHost")) {
    addError(checks, "forwardKubeDNSToHost must be enabled in container mode");
  }
}

/** Checks that discovery knows its cluster; returns whether it is on. */
function checkDiscovery(checks: Checks, model: ConfigModel, main: Fields | undefined): boolean {
  const identity = model.find(({ kind }) => kind === "DiscoveryIdentityConfig")?.value;
  const isLegacy = isTrue(main, "cluster.discovery.enabled") &&
    !isTrue(main, "cluster.discovery.registries.service.disabled");
  const isOn = isLegacy || model.some(({ kind }) => kind === "DiscoveryServiceConfig");
  if (!isOn) return false;
  for (
    const [what, field, legacy] of [["ID", "clusterID", "id"], [
      "secret",
      "clusterSecret",
      "secret",
    ]] as const
  ) {
    if ((pickText(identity, field) || pickText(main, `cluster.${legacy}`)) !== "") continue;
    addError(
      checks,
      `cluster ${what} (.cluster.${legacy} or DiscoveryIdentityConfig) should be set when cluster ` +
        "discovery (DiscoveryServiceConfig) is enabled",
    );
  }
  return true;
}
