// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a machine configuration is made from.
 *
 * @module
 */

import type { Bundle } from "./bundle.ts";
import type { Contract } from "./contract.ts";
import { pairToBase64, pemToBase64 } from "./pem.ts";

/** The two roles of a machine in a cluster. */
export type MachineType = "controlplane" | "worker";

/** Everything that a configuration depends on. */
export interface GenerateInput {
  readonly bundle: Bundle;
  readonly clusterName: string;
  /** URL of the Kubernetes API, as machines reach it. */
  readonly endpoint: string;
  /** The first Kubernetes version of the cluster, without `v`. */
  readonly kubernetesVersion: string;
  readonly contract: Contract;
  readonly machineType: MachineType;
  readonly options?: GenerateOptions;
}

/** Deviations from the contract's defaults. */
export interface GenerateOptions {
  readonly installDisk?: string;
  readonly installImage?: string;
  readonly installExtraKernelArgs?: readonly string[];
  /** From 1.14 on: leave out the document that makes a machine install itself. */
  readonly skipUnattendedInstallConfig?: boolean;
  readonly additionalSubjectAltNames?: readonly string[];
  readonly allowSchedulingOnControlPlanes?: boolean;
  readonly dnsDomain?: string;
  readonly localAPIServerPort?: number;
  /** Port of KubePrism; 0 turns it off, absence means the contract's default. */
  readonly kubePrismPort?: number;
  readonly sysctls?: Readonly<Record<string, string>>;
  readonly customCNIURL?: string;
  /** Registry host to the endpoints of its mirrors. */
  readonly registryMirrors?: Readonly<Record<string, readonly string[]>>;
  /** Registry host to the PEM text of its authority. */
  readonly registryCACerts?: Readonly<Record<string, string>>;
  readonly registryInsecureSkipVerify?: readonly string[];
  readonly debug?: boolean;
  readonly clusterDiscovery?: boolean;
  /** Turns forwarding on for contracts below 1.8, which leave it off. */
  readonly hostDNSForwardKubeDNSToHost?: boolean;
  readonly kubeSpanEnabled?: boolean;
}

/** Default port of the in-cluster balancer for the Kubernetes API. */
export const KUBE_PRISM_PORT = 7445;

/** Label that keeps control planes out of cloud balancers. */
export const EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";

/** An authority as the configuration holds it: base64 of PEM. */
export type StoredPair = { readonly crt: string; readonly key: string };

/** The bundle's certificates in the form of the configuration. */
export interface StoredCerts {
  readonly etcd: StoredPair;
  readonly k8s: StoredPair;
  readonly k8sAggregator: StoredPair;
  readonly os: StoredPair;
  readonly serviceAccountKey: string;
}

/** Encodes a bundle's certificates for one configuration. */
export function storedCertsOf({ certs }: Bundle): StoredCerts {
  return {
    etcd: pairToBase64(certs.etcd),
    k8s: pairToBase64(certs.k8s),
    k8sAggregator: pairToBase64(certs.k8sAggregator),
    os: pairToBase64(certs.os),
    serviceAccountKey: pemToBase64(certs.k8sServiceAccount.key),
  };
}

const IPV4_NETWORKS = { podSubnets: ["10.244.0.0/16"], serviceSubnets: ["10.96.0.0/12"] } as const;
const IPV6_NETWORKS = {
  podSubnets: ["fc00:db8:10::/56"],
  serviceSubnets: ["fc00:db8:20::/112"],
} as const;

/** Default networks: IPv6 only if the endpoint is nothing but an IPv6 address, which no URL is. */
export function defaultNetworks(endpoint: string): {
  readonly podSubnets: readonly string[];
  readonly serviceSubnets: readonly string[];
} {
  const isAddress = /^[0-9a-fA-F:.%]+$/.test(endpoint) && URL.canParse(`http://[${endpoint}]/`);
  return isAddress ? IPV6_NETWORKS : IPV4_NETWORKS;
}

/** The host of a URL without port and brackets; an empty text when it is no URL. */
export function hostOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^:/?#]*)/i.exec(url)?.[1]
    ?.replace(/^\[|\]$/g, "") ?? "";
}

/** The admission plug-in that every contract since 1.1 turns on; keys sorted as data keys are. */
export const POD_SECURITY = {
  apiVersion: "pod-security.admission.config.k8s.io/v1alpha1",
  defaults: {
    audit: "restricted",
    "audit-version": "latest",
    enforce: "baseline",
    "enforce-version": "latest",
    warn: "restricted",
    "warn-version": "latest",
  },
  exemptions: { namespaces: ["kube-system"], runtimeClasses: [], usernames: [] },
  kind: "PodSecurityConfiguration",
} as const;

/** The audit policy that every contract since 1.3 sets. */
export const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  rules: [{ level: "Metadata" }],
} as const;
