// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The documents beside v1alpha1, in the order in which Talos prints them: few from contract 1.12
 * on, nearly everything from 1.14 on.
 *
 * @module
 */

import { since } from "./contract.ts";
import {
  AUDIT_POLICY,
  defaultNetworks,
  EXCLUDE_LABEL,
  type GenerateInput,
  KUBE_PRISM_PORT,
  POD_SECURITY,
} from "./generate_input.ts";
import { sortedMap, type YamlValue } from "./yaml_write.ts";

/** A document before it is printed. */
export type GeneratedDocument = { readonly [key: string]: YamlValue | undefined };

const CONTROL_PLANE_ROLE = "node-role.kubernetes.io/control-plane";

/** Makes the documents that follow v1alpha1. */
export function generateDocuments(input: GenerateInput): GeneratedDocument[] {
  if (!since(input.contract, 12)) return [];
  const isNew = since(input.contract, 14);
  return [
    ...(isNew ? machineDocuments(input) : []),
    ...registryDocuments(input),
    document("HostnameConfig", { auto: "stable" }),
    ...(since(input.contract, 13) && input.options?.kubeSpanEnabled !== undefined
      ? [document("KubeSpanConfig", { enabled: input.options.kubeSpanEnabled })]
      : []),
    ...(isNew ? kubernetesDocuments(input) : []),
  ];
}

function document(kind: string, fields: GeneratedDocument): GeneratedDocument {
  return { apiVersion: "v1alpha1", kind, ...fields };
}

function machineDocuments({ bundle, options = {} }: GenerateInput): GeneratedDocument[] {
  const isInstalling = (options.installDisk ?? "") !== "" &&
    options.skipUnattendedInstallConfig !== true;
  const sysctls = Object.entries(options.sysctls ?? {});
  return [
    ...(options.clusterDiscovery === false ? [] : [
      document("DiscoveryServiceConfig", {
        name: "default",
        endpoint: "https://discovery.talos.dev/",
      }),
    ]),
    document("DiscoveryIdentityConfig", {
      clusterID: bundle.cluster.id,
      clusterSecret: bundle.cluster.secret,
    }),
    ...(isInstalling
      ? [
        document("UnattendedInstallConfig", {
          installer: { image: options.installImage === "" ? undefined : options.installImage },
          provisioning: {
            diskSelector: { match: `disk.dev_path == ${JSON.stringify(options.installDisk)}` },
            wipe: false,
          },
        }),
      ]
      : []),
    document("ResolverConfig", {
      hostDNS: { enabled: true, forwardKubeDNSToHost: true },
    }),
    ...(sysctls.length === 0 ? [] : [document("SysctlConfig", { params: sortedMap(sysctls) })]),
    document("VolumeConfig", { name: "EPHEMERAL", mount: { secure: true } }),
    document("FilesystemTrimConfig", { interval: "168h0m0s" }),
    document("SecurityProfileConfig", { workloadIsolation: true }),
  ];
}

function registryDocuments({ options = {} }: GenerateInput): GeneratedDocument[] {
  const mirrors = Object.entries(options.registryMirrors ?? {}).sort(byCodePoint);
  const authorities = options.registryCACerts ?? {};
  const insecure = new Set(options.registryInsecureSkipVerify);
  const hosts = [...new Set([...Object.keys(authorities), ...insecure])].sort();
  return [
    ...mirrors.map(([name, endpoints]) =>
      document("RegistryMirrorConfig", { name, endpoints: endpoints.map((url) => ({ url })) })
    ),
    ...hosts.map((name) =>
      document("RegistryTLSConfig", {
        name,
        ca: authorities[name],
        insecureSkipVerify: insecure.has(name) ? true : undefined,
      })
    ),
  ];
}

function byCodePoint([left]: readonly [string, unknown], [right]: readonly [string, unknown]) {
  return left < right ? -1 : left > right ? 1 : 0;
}

function kubernetesDocuments(input: GenerateInput): GeneratedDocument[] {
  const { bundle, options = {} } = input;
  const isControlPlane = input.machineType === "controlplane";
  const port = options.kubePrismPort ?? KUBE_PRISM_PORT;
  const { crt, key } = bundle.certs.k8s;
  return [
    document("KubeClusterConfig", { clusterName: input.clusterName, endpoint: input.endpoint }),
    document("KubeNodeConfig", isControlPlane ? controlPlaneNode(input) : { nodeIP: {} }),
    document("KubeletConfig", {
      image: `ghcr.io/siderolabs/kubelet:v${input.kubernetesVersion}`,
      config: {},
      defaultRuntimeSeccompProfileEnabled: true,
    }),
    document("KubeNetworkConfig", {
      dnsDomain: (options.dnsDomain ?? "") === "" ? "cluster.local" : options.dnsDomain,
      ...defaultNetworks(input.endpoint),
    }),
    document(
      "KubeAPIServerCAConfig",
      isControlPlane ? { issuingCA: { cert: crt, key } } : { acceptedCAs: [crt] },
    ),
    ...(port > 0 ? [document("KubePrismConfig", { port })] : []),
    ...(isControlPlane ? controlPlaneDocuments(input) : []),
  ];
}

function controlPlaneNode({ options }: GenerateInput): GeneratedDocument {
  const isScheduling = options?.allowSchedulingOnControlPlanes === true;
  return {
    nodeIP: {},
    labels: { [CONTROL_PLANE_ROLE]: "", [EXCLUDE_LABEL]: "" },
    taints: isScheduling ? undefined : { [CONTROL_PLANE_ROLE]: "NoSchedule" },
  };
}

function controlPlaneDocuments(input: GenerateInput): GeneratedDocument[] {
  const { bundle, options = {} } = input;
  const { crt, key } = bundle.certs.k8sAggregator;
  const image = (name: string) => `registry.k8s.io/${name}:v${input.kubernetesVersion}`;
  const port = options.localAPIServerPort ?? 0;
  const sans = options.additionalSubjectAltNames ?? [];
  return [
    document("KubeAggregatorCAConfig", { issuingCA: { cert: crt, key } }),
    document("KubeAdmissionControlConfig", { name: "PodSecurity", configuration: POD_SECURITY }),
    document("KubeAuditPolicyConfig", { configuration: AUDIT_POLICY }),
    document("KubeAuthenticationConfig", {
      configuration: {
        anonymous: {
          conditions: [{ path: "/livez" }, { path: "/readyz" }, { path: "/healthz" }],
          enabled: true,
        },
        jwt: [],
      },
    }),
    document("KubeAuthorizerConfig", { name: "node", type: "Node" }),
    document("KubeAuthorizerConfig", { name: "rbac", type: "RBAC" }),
    document("KubeEtcdEncryptionConfig", { config: encryption(input) }),
    document("KubeServiceAccountConfig", {
      issuer: { privateKey: bundle.certs.k8sServiceAccount.key, issuerURL: input.endpoint },
    }),
    document("KubeAPIServerConfig", {
      image: image("kube-apiserver"),
      apiPort: port > 0 ? port : undefined,
      certExtraSANs: sans.length === 0 ? undefined : sans,
    }),
    document("KubeControllerManagerConfig", { image: image("kube-controller-manager") }),
    document("KubeSchedulerConfig", { image: image("kube-scheduler"), config: {} }),
    document("KubeProxyConfig", { image: image("kube-proxy"), config: {} }),
    ...networkDocuments(options.customCNIURL ?? ""),
  ];
}

function networkDocuments(cniUrl: string): GeneratedDocument[] {
  const dns = document("KubeCoreDNSConfig", { enabled: true });
  return cniUrl === ""
    ? [document("KubeFlannelCNIConfig", { backendType: "vxlan", backendPort: 4789 }), dns]
    : [dns, document("KubeExternalManifestConfig", { name: "custom-cni", url: cniUrl })];
}

/** Secrets at rest. Talos writes the key of an old bundle as secretbox too, under another name. */
function encryption({ bundle }: GenerateInput): YamlValue {
  const { secretboxEncryptionSecret, aescbcEncryptionSecret } = bundle.secrets;
  const key = secretboxEncryptionSecret === undefined
    ? { name: "key1", secret: aescbcEncryptionSecret ?? "" }
    : { name: "key2", secret: secretboxEncryptionSecret };
  return { resources: [{ providers: [{ secretbox: { keys: [key] } }], resources: ["secrets"] }] };
}
