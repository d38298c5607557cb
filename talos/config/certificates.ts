// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The certificates of a cluster beside its authorities: who may ask, and who answers.
 *
 * @module
 */

import {
  type CertificateAndKey,
  type CertificateRequest,
  issueCertificate,
  type RandomBytes,
  signRequest,
} from "./pki.ts";

const HOUR_MS = 3_600_000;

/** Lifetime of client certificates unless the caller says otherwise: 8,760 hours. */
export const CLIENT_LIFETIME_MS = 8_760 * HOUR_MS;

/** Lifetime of a machine's own server certificate, renewed at half of it. */
export const MACHINE_SERVER_LIFETIME_MS = 24 * HOUR_MS;

/** Kubernetes certificates start this much in the past, as Talos's own do. */
const KUBERNETES_LEEWAY_MS = 10_000;

/** The roles that a client of the machine API may have. */
export const TALOS_ROLES = [
  "os:admin",
  "os:operator",
  "os:reader",
  "os:etcd:backup",
  "os:impersonator",
  "os:image:verifier",
  "os:meta:writer",
] as const;

/** What all certificates here share. */
interface IssueOptions {
  readonly nowMs: number;
  readonly lifetimeMs?: number;
  readonly random?: RandomBytes;
}

/**
 * A client certificate for the machine API. Its usage is exactly clientAuth: machines refuse others.
 *
 * @param osCa The cluster's Talos authority.
 */
export function issueTalosClientCertificate(
  osCa: CertificateAndKey,
  { roles, nowMs, lifetimeMs = CLIENT_LIFETIME_MS, random }: IssueOptions & {
    readonly roles: readonly string[];
  },
): Promise<CertificateAndKey> {
  return issueCertificate(osCa, {
    organizations: roles,
    usages: ["digitalSignature"],
    extendedUsages: ["clientAuth"],
    notBeforeMs: nowMs,
    lifetimeMs,
  }, random);
}

/**
 * A Kubernetes administrator's certificate.
 *
 * @param k8sCa The cluster's Kubernetes authority.
 */
export function issueKubernetesAdminCertificate(
  k8sCa: CertificateAndKey,
  { commonName = "admin", nowMs, lifetimeMs = CLIENT_LIFETIME_MS, random }: IssueOptions & {
    readonly commonName?: string;
  },
): Promise<CertificateAndKey> {
  return issueCertificate(k8sCa, {
    organizations: ["system:masters"],
    commonName,
    usages: ["digitalSignature", "keyEncipherment"],
    extendedUsages: ["clientAuth"],
    notBeforeMs: nowMs - KUBERNETES_LEEWAY_MS,
    lifetimeMs: lifetimeMs + KUBERNETES_LEEWAY_MS,
  }, random);
}

/** Names under which a server is reached. */
export interface ServerNames {
  readonly commonName?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

/** The certificate with which a control-plane machine answers on its API. */
export function issueMachineServerCertificate(
  osCa: CertificateAndKey,
  { nowMs, lifetimeMs = MACHINE_SERVER_LIFETIME_MS, random, ...names }: IssueOptions & ServerNames,
): Promise<CertificateAndKey> {
  return issueCertificate(osCa, {
    ...names,
    usages: ["digitalSignature"],
    extendedUsages: ["serverAuth"],
    notBeforeMs: nowMs,
    lifetimeMs,
  }, random);
}

/**
 * Answers a worker's request for its server certificate, as trustd does: names and common name are
 * kept, the organization is dropped, so that no worker can give itself a role.
 */
export function signMachineServerRequest(
  osCa: CertificateAndKey,
  request: CertificateRequest,
  { nowMs, lifetimeMs = MACHINE_SERVER_LIFETIME_MS, random }: IssueOptions,
): Promise<string> {
  return signRequest(osCa, request, {
    ...(request.commonName === undefined ? {} : { commonName: request.commonName }),
    dnsNames: request.dnsNames,
    ipAddresses: request.ipAddresses,
    usages: ["digitalSignature"],
    extendedUsages: ["serverAuth"],
    notBeforeMs: nowMs,
    lifetimeMs,
  }, random);
}

/** The certificate of a kube-apiserver. */
export function issueApiServerCertificate(
  k8sCa: CertificateAndKey,
  { nowMs, lifetimeMs = CLIENT_LIFETIME_MS, random, ...names }: IssueOptions & ServerNames,
): Promise<CertificateAndKey> {
  return issueCertificate(k8sCa, {
    commonName: "kube-apiserver",
    organizations: ["kube-master"],
    ...names,
    usages: ["digitalSignature", "keyEncipherment"],
    extendedUsages: ["serverAuth"],
    notBeforeMs: nowMs - KUBERNETES_LEEWAY_MS,
    lifetimeMs: lifetimeMs + KUBERNETES_LEEWAY_MS,
  }, random);
}
