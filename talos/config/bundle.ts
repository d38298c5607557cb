// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The secrets of one cluster: its identity, its tokens and its authorities.
 *
 * Two stored forms exist: YAML, as `talosctl gen secrets` writes it, and JSON, as a ClusterSecrets
 * resource holds it.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { bundleProblems } from "./bundle_check.ts";
import { type Contract, since } from "./contract.ts";
import { formatErrors } from "./error_list.ts";
import { generateKey, keyToPem } from "./keys.ts";
import { pairToBase64, pemFromBase64, pemToBase64 } from "./pem.ts";
import { type CertificateAndKey, createCa, type RandomBytes, systemRandom } from "./pki.ts";
import { parseSimpleYaml } from "./yaml_read.ts";
import { writeYaml } from "./yaml_write.ts";

/** All secrets of a cluster; certificates and keys are PEM. */
export interface Bundle {
  readonly cluster: {
    /** An opaque name of the cluster, known to all its machines. */
    readonly id: string;
    /** Key of the cluster's discovery data: base64 of 32 bytes. */
    readonly secret: string;
  };
  readonly secrets: {
    /** Token with which kubelets join Kubernetes. */
    readonly bootstrapToken: string;
    /** Key of secrets at rest in etcd, for contracts up to 1.2. */
    readonly aescbcEncryptionSecret?: string;
    /** Key of secrets at rest in etcd, from contract 1.3 on. */
    readonly secretboxEncryptionSecret?: string;
  };
  /** Token with which workers ask for their server certificate. */
  readonly trustdInfo: { readonly token: string };
  readonly certs: {
    readonly etcd: CertificateAndKey;
    readonly k8s: CertificateAndKey;
    readonly k8sAggregator: CertificateAndKey;
    readonly k8sServiceAccount: { readonly key: string };
    readonly os: CertificateAndKey;
  };
}

/** Makes the secrets of a cluster. The contract decides about a few kinds of keys. */
export async function generateBundle(
  { contract, nowMs, random = systemRandom }: {
    readonly contract: Contract;
    /** When the authorities begin to be valid. */
    readonly nowMs: number;
    readonly random?: RandomBytes;
  },
): Promise<Bundle> {
  const ecdsa = { kind: "ecdsa-p256", nowMs, random } as const;
  const [etcd, k8s, k8sAggregator, os, serviceAccount] = await Promise.all([
    createCa({ ...ecdsa, organization: "etcd" }),
    createCa({ ...ecdsa, organization: "kubernetes" }),
    createCa(ecdsa),
    createCa({ kind: "ed25519", organization: "talos", nowMs, random }),
    generateKey(since(contract, 7) ? "rsa-4096" : "ecdsa-p256").then(keyToPem),
  ]);
  return {
    cluster: {
      // Talos 1.14 changed the alphabet; the ID is compared, never decoded.
      id: random(32).toBase64({ alphabet: since(contract, 14) ? "base64" : "base64url" }),
      secret: random(32).toBase64(),
    },
    secrets: {
      bootstrapToken: randomToken(random),
      ...(since(contract, 3)
        ? { secretboxEncryptionSecret: random(32).toBase64() }
        : { aescbcEncryptionSecret: random(32).toBase64() }),
    },
    trustdInfo: { token: randomToken(random) },
    certs: { etcd, k8s, k8sAggregator, k8sServiceAccount: { key: serviceAccount }, os },
  };
}

const TOKEN_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** A token in the form of kubeadm: six and sixteen characters. */
function randomToken(random: RandomBytes): string {
  let text = "";
  while (text.length < 22) {
    for (const byte of random(32)) {
      // 252 is the largest multiple of 36 in a byte: above it, some characters would be likelier.
      if (byte < 252 && text.length < 22) text += TOKEN_ALPHABET[byte % 36];
    }
  }
  return `${text.slice(0, 6)}.${text.slice(6)}`;
}

/** Writes the YAML form. */
export function bundleToYaml(bundle: Bundle): string {
  const { cluster, secrets, trustdInfo, certs } = bundle;
  return writeYaml({
    cluster: { id: cluster.id, secret: cluster.secret },
    secrets: {
      bootstraptoken: secrets.bootstrapToken,
      aescbcencryptionsecret: secrets.aescbcEncryptionSecret,
      secretboxencryptionsecret: secrets.secretboxEncryptionSecret,
    },
    trustdinfo: { token: trustdInfo.token },
    certs: {
      etcd: pairToBase64(certs.etcd),
      k8s: pairToBase64(certs.k8s),
      k8saggregator: pairToBase64(certs.k8sAggregator),
      k8sserviceaccount: { key: pemToBase64(certs.k8sServiceAccount.key) },
      os: pairToBase64(certs.os),
    },
  });
}

/**
 * Reads the YAML form.
 *
 * @throws CodedError `invalidArgument` when something is missing or is no certificate or key.
 */
export function bundleFromYaml(text: string): Bundle {
  return fromStored(parseSimpleYaml(text), (name) => name.toLowerCase());
}

/** Writes the JSON form of a ClusterSecrets resource. */
export function bundleToJson(bundle: Bundle): string {
  const { cluster, secrets, trustdInfo, certs } = bundle;
  const capital = (pair: CertificateAndKey) => {
    const { crt, key } = pairToBase64(pair);
    return { Crt: crt, Key: key };
  };
  return JSON.stringify({
    Cluster: { Id: cluster.id, Secret: cluster.secret },
    Secrets: {
      BootstrapToken: secrets.bootstrapToken,
      AESCBCEncryptionSecret: secrets.aescbcEncryptionSecret,
      SecretboxEncryptionSecret: secrets.secretboxEncryptionSecret,
    },
    TrustdInfo: { Token: trustdInfo.token },
    Certs: {
      Etcd: capital(certs.etcd),
      K8s: capital(certs.k8s),
      K8sAggregator: capital(certs.k8sAggregator),
      K8sServiceAccount: { Key: pemToBase64(certs.k8sServiceAccount.key) },
      OS: capital(certs.os),
    },
  });
}

const JSON_NAMES: Readonly<Record<string, string>> = {
  aescbcEncryptionSecret: "AESCBCEncryptionSecret",
  os: "OS",
};

/**
 * Reads the JSON form.
 *
 * @throws CodedError `invalidArgument` when something is missing or is no certificate or key.
 */
export function bundleFromJson(text: string): Bundle {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own text quotes the input, which is all secrets.
    throw new CodedError("invalidArgument", "Cannot read secrets bundle: not JSON");
  }
  return fromStored(value, (name) => JSON_NAMES[name] ?? name[0]?.toUpperCase() + name.slice(1));
}

function fromStored(root: unknown, naming: (name: string) => string): Bundle {
  const part = (...path: readonly string[]): unknown => {
    let value: unknown = root;
    for (const name of path) {
      value = typeof value === "object" && value !== null && !Array.isArray(value)
        ? (value as Record<string, unknown>)[naming(name)]
        : undefined;
    }
    return value ?? undefined;
  };
  const problems = bundleProblems((path) => part(...path.split(".").map(properName)));
  if (problems.length > 0) throw new CodedError("invalidArgument", formatErrors(problems));
  const text = (...path: string[]) => String(part(...path) ?? "");
  const pair = (name: string) => ({
    crt: pemFromBase64(text("certs", name, "crt")),
    key: pemFromBase64(text("certs", name, "key")),
  });
  const aescbc = text("secrets", "aescbcEncryptionSecret");
  const secretbox = text("secrets", "secretboxEncryptionSecret");
  return {
    cluster: { id: text("cluster", "id"), secret: text("cluster", "secret") },
    secrets: {
      bootstrapToken: text("secrets", "bootstrapToken"),
      ...(aescbc === "" ? {} : { aescbcEncryptionSecret: aescbc }),
      ...(secretbox === "" ? {} : { secretboxEncryptionSecret: secretbox }),
    },
    trustdInfo: { token: text("trustdInfo", "token") },
    certs: {
      etcd: pair("etcd"),
      k8s: pair("k8s"),
      k8sAggregator: pair("k8sAggregator"),
      k8sServiceAccount: { key: pemFromBase64(text("certs", "k8sServiceAccount", "key")) },
      os: pair("os"),
    },
  };
}

const PROPER_NAMES = [
  "bootstrapToken",
  "aescbcEncryptionSecret",
  "secretboxEncryptionSecret",
  "trustdInfo",
  "k8sAggregator",
  "k8sServiceAccount",
];

/** The name of a part as {@linkcode Bundle} has it, for its name in the YAML form. */
function properName(stored: string): string {
  return PROPER_NAMES.find((name) => name.toLowerCase() === stored) ?? stored;
}
