// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The v1alpha1 document: everything up to contract 1.13, a remainder from 1.14 on.
 *
 * The order of keys here is the order of the printed document.
 *
 * @module
 */

import { since } from "./contract.ts";
import {
  AUDIT_POLICY,
  defaultNetworks,
  EXCLUDE_LABEL,
  type GenerateInput,
  hostOf,
  KUBE_PRISM_PORT,
  POD_SECURITY,
  type StoredCerts,
  storedCertsOf,
} from "./generate_input.ts";
import { pemToBase64 } from "./pem.ts";
import { sortedMap, type YamlValue } from "./yaml_write.ts";

/** Makes the v1alpha1 document. */
export function generateV1alpha1(input: GenerateInput): YamlValue {
  const certs = storedCertsOf(input.bundle);
  return {
    version: "v1alpha1",
    debug: input.options?.debug ?? false,
    persist: true,
    machine: since(input.contract, 14) ? remainingMachine(input, certs) : machine(input, certs),
    cluster: since(input.contract, 14) ? remainingCluster(input, certs) : cluster(input, certs),
  };
}

function remainingMachine(input: GenerateInput, certs: StoredCerts): YamlValue {
  return { ...identity(input, certs), features: { diskQuotaSupport: true } };
}

function remainingCluster(input: GenerateInput, { etcd }: StoredCerts): YamlValue {
  return {
    token: input.bundle.secrets.bootstrapToken,
    etcd: isControlPlane(input) ? { ca: etcd } : undefined,
  };
}

function isControlPlane(input: GenerateInput): boolean {
  return input.machineType === "controlplane";
}

function identity(input: GenerateInput, { os }: StoredCerts) {
  return {
    type: input.machineType,
    token: input.bundle.trustdInfo.token,
    // Workers know the authority, never its key; the empty key stays visible.
    ca: isControlPlane(input) ? os : { crt: os.crt, key: "" },
    certSANs: input.options?.additionalSubjectAltNames ?? [],
  };
}

function machine(input: GenerateInput, certs: StoredCerts): YamlValue {
  const { contract, options = {} } = input;
  const sysctls = Object.entries(options.sysctls ?? {});
  const isLabelled = isControlPlane(input) && since(contract, 8);
  return {
    ...identity(input, certs),
    kubelet: {
      image: `ghcr.io/siderolabs/kubelet:v${input.kubernetesVersion}`,
      defaultRuntimeSeccompProfileEnabled: since(contract, 2) ? true : undefined,
      disableManifestsDirectory: since(contract, 3) ? true : undefined,
    },
    network: network(input),
    install: {
      disk: nonEmpty(options.installDisk),
      extraKernelArgs: nonEmptyList(options.installExtraKernelArgs),
      image: nonEmpty(options.installImage),
      wipe: false,
      grubUseUKICmdline: since(contract, 12) ? true : undefined,
    },
    sysctls: sysctls.length === 0 ? undefined : sortedMap(sysctls),
    registries: since(contract, 12) ? undefined : registries(input),
    features: features(input),
    nodeLabels: isLabelled ? { [EXCLUDE_LABEL]: "" } : undefined,
  };
}

function network({ contract, options }: GenerateInput): YamlValue | undefined {
  // From 1.13 on KubeSpan is a document of its own.
  if (since(contract, 13)) return undefined;
  const enabled = options?.kubeSpanEnabled;
  return { kubespan: enabled === undefined ? undefined : { enabled } };
}

function registries({ contract, options = {} }: GenerateInput): YamlValue | undefined {
  const mirrors = new Map<string, YamlValue>();
  // The old registry of Kubernetes was frozen in the time of this contract.
  if (since(contract, 2) && !since(contract, 3)) {
    mirrors.set("k8s.gcr.io", { endpoints: ["https://registry.k8s.io", "https://k8s.gcr.io"] });
  }
  for (const [host, endpoints] of Object.entries(options.registryMirrors ?? {})) {
    mirrors.set(host, { endpoints });
  }
  const config = new Map<string, YamlValue>();
  const insecure = new Set(options.registryInsecureSkipVerify);
  const authorities = options.registryCACerts ?? {};
  for (const host of new Set([...Object.keys(authorities), ...insecure])) {
    const authority = authorities[host];
    config.set(host, {
      tls: {
        ca: authority === undefined ? undefined : pemToBase64(authority),
        insecureSkipVerify: insecure.has(host) ? true : undefined,
      },
    });
  }
  if (mirrors.size + config.size === 0) return undefined;
  return {
    mirrors: mirrors.size === 0 ? undefined : sortedMap(mirrors),
    config: config.size === 0 ? undefined : sortedMap(config),
  };
}

function features({ contract, options = {} }: GenerateInput): YamlValue {
  const port = options.kubePrismPort ?? (since(contract, 6) ? KUBE_PRISM_PORT : 0);
  const isOld = !since(contract, 12);
  // The option can turn it on for an older contract, never off for a newer one.
  const isForwarding = options.hostDNSForwardKubeDNSToHost === true || since(contract, 8);
  return {
    rbac: isOld ? true : undefined,
    stableHostname: isOld && since(contract, 2) ? true : undefined,
    apidCheckExtKeyUsage: isOld && since(contract, 3) ? true : undefined,
    diskQuotaSupport: since(contract, 5) ? true : undefined,
    kubePrism: port > 0 ? { enabled: true, port } : undefined,
    hostDNS: since(contract, 7)
      ? { enabled: true, forwardKubeDNSToHost: isForwarding ? true : undefined }
      : undefined,
  };
}

function cluster(input: GenerateInput, certs: StoredCerts): YamlValue {
  const { contract, bundle, options = {} } = input;
  const isMaster = isControlPlane(input);
  const cni = nonEmpty(options.customCNIURL);
  const port = options.localAPIServerPort ?? 0;
  const isScheduling = isMaster && options.allowSchedulingOnControlPlanes === true;
  return {
    id: bundle.cluster.id,
    secret: bundle.cluster.secret,
    controlPlane: {
      endpoint: input.endpoint,
      localAPIServerPort: isMaster && port > 0 ? port : undefined,
    },
    clusterName: isMaster || since(contract, 8) ? input.clusterName : undefined,
    network: {
      cni: cni === undefined ? undefined : { name: "custom", urls: [cni] },
      dnsDomain: nonEmpty(options.dnsDomain) ?? "cluster.local",
      ...defaultNetworks(input.endpoint),
    },
    token: bundle.secrets.bootstrapToken,
    aescbcEncryptionSecret: isMaster ? bundle.secrets.aescbcEncryptionSecret : undefined,
    secretboxEncryptionSecret: isMaster ? bundle.secrets.secretboxEncryptionSecret : undefined,
    ca: isMaster ? certs.k8s : { crt: certs.k8s.crt, key: "" },
    ...(isMaster ? controlPlaneServices(input, certs) : {}),
    discovery: {
      enabled: options.clusterDiscovery ?? true,
      registries: {
        kubernetes: since(contract, 2) ? { disabled: true } : {},
        service: {},
      },
    },
    etcd: isMaster ? { ca: certs.etcd } : undefined,
    allowSchedulingOnMasters: isScheduling && !since(contract, 2) ? true : undefined,
    allowSchedulingOnControlPlanes: isScheduling && since(contract, 2) ? true : undefined,
  };
}

function controlPlaneServices(input: GenerateInput, certs: StoredCerts) {
  const { contract, kubernetesVersion } = input;
  const image = (name: string) => ({ image: `registry.k8s.io/${name}:v${kubernetesVersion}` });
  const isOld = !since(contract, 12);
  const sans = [
    ...(isOld ? [hostOf(input.endpoint)].filter((host) => host !== "") : []),
    ...input.options?.additionalSubjectAltNames ?? [],
  ];
  return {
    aggregatorCA: certs.k8sAggregator,
    serviceAccount: { key: certs.serviceAccountKey },
    apiServer: {
      ...image("kube-apiserver"),
      certSANs: nonEmptyList(sans),
      disablePodSecurityPolicy: isOld ? true : undefined,
      admissionControl: since(contract, 1)
        ? [{ name: "PodSecurity", configuration: POD_SECURITY }]
        : undefined,
      auditPolicy: since(contract, 3) ? AUDIT_POLICY : undefined,
    },
    controllerManager: image("kube-controller-manager"),
    proxy: image("kube-proxy"),
    scheduler: image("kube-scheduler"),
  };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

function nonEmptyList(list: readonly string[] | undefined): readonly string[] | undefined {
  return list?.length === 0 ? undefined : list;
}
