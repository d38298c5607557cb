// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Describes what is not random in credentials: kinds of keys, subjects, usages, validity.
 *
 * @module
 */

import * as x509 from "@peculiar/x509";
import type { Bundle } from "./bundle.ts";
import { keyFromPem, type KeyKind } from "./keys.ts";
import { decodeFirstPem } from "./pem.ts";
import { type CertificateAndKey, parseCertificate } from "./pki.ts";
import type { Talosconfig } from "./talosconfig.ts";

/** The description of one value. */
export type Profile = Readonly<Record<string, unknown>>;

/** Descriptions by the value's path in the YAML form, in the order of the paths. */
export type Profiles = Readonly<Record<string, Profile>>;

/** Describes a secrets bundle. */
export async function profileBundle(
  { certs, cluster, secrets, trustdInfo }: Bundle,
): Promise<Profiles> {
  return {
    ...await profilePair("certs.etcd", certs.etcd),
    ...await profilePair("certs.k8s", certs.k8s),
    ...await profilePair("certs.k8saggregator", certs.k8sAggregator),
    "certs.k8sserviceaccount.key": await profileKey(certs.k8sServiceAccount.key),
    ...await profilePair("certs.os", certs.os),
    "cluster.id": profileBase64(cluster.id),
    "cluster.secret": profileBase64(cluster.secret),
    "secrets.aescbcencryptionsecret": profileBase64(secrets.aescbcEncryptionSecret ?? ""),
    "secrets.bootstraptoken": profileToken(secrets.bootstrapToken),
    "secrets.secretboxencryptionsecret": profileBase64(secrets.secretboxEncryptionSecret ?? ""),
    "trustdinfo.token": profileToken(trustdInfo.token),
  };
}

/** Describes the credentials of every context of a client configuration. */
export async function profileTalosconfig({ contexts }: Talosconfig): Promise<Profiles> {
  const profiles: Record<string, Profile> = {};
  for (const [name, { ca, client }] of contexts) {
    const issuer = ca === undefined ? undefined : parseCertificate(ca);
    if (ca !== undefined) profiles[`contexts.${name}.ca`] = await profileCertificate(ca);
    if (client === undefined) continue;
    profiles[`contexts.${name}.crt`] = await profileCertificate(client.crt, issuer);
    profiles[`contexts.${name}.key`] = await profileKey(client.key, client.crt);
  }
  return profiles;
}

async function profilePair(path: string, { crt, key }: CertificateAndKey): Promise<Profiles> {
  return {
    [`${path}.crt`]: await profileCertificate(crt),
    [`${path}.key`]: await profileKey(key, crt),
  };
}

async function profileKey(pem: string, crt?: string): Promise<Profile> {
  const key = await keyFromPem(pem);
  const profile = {
    pemHeader: decodeFirstPem(pem).label,
    algorithm: KEY_NAMES[key.kind],
    endsWithNewline: pem.endsWith("\n"),
  };
  if (crt === undefined) return profile;
  const own = new Uint8Array(await crypto.subtle.exportKey("spki", key.publicKey));
  const certified = new Uint8Array(parseCertificate(crt).publicKey.rawData);
  return { ...profile, matchesCertificate: own.toHex() === certified.toHex() };
}

const KEY_NAMES: Readonly<Record<KeyKind, string>> = {
  "ed25519": "Ed25519",
  "ecdsa-p256": "ECDSA-P-256",
  "rsa-4096": "RSA-4096",
};

const EXTENSION_NAMES: Readonly<Record<string, string>> = {
  "2.5.29.14": "subjectKeyIdentifier",
  "2.5.29.15": "keyUsage",
  "2.5.29.17": "subjectAltName",
  "2.5.29.19": "basicConstraints",
  "2.5.29.35": "authorityKeyIdentifier",
  "2.5.29.37": "extKeyUsage",
};

const EXTENDED_USAGES: Readonly<Record<string, string>> = {
  "1.3.6.1.5.5.7.3.1": "serverAuth",
  "1.3.6.1.5.5.7.3.2": "clientAuth",
};

async function profileCertificate(
  pem: string,
  issuer?: x509.X509Certificate,
): Promise<Profile> {
  const certificate = parseCertificate(pem);
  const find = <T extends x509.Extension>(oid: string) => certificate.getExtension<T>(oid);
  const constraints = find<x509.BasicConstraintsExtension>("2.5.29.19");
  const subjectKey = find<x509.SubjectKeyIdentifierExtension>("2.5.29.14");
  const authorityKey = find<x509.AuthorityKeyIdentifierExtension>("2.5.29.35");
  const alternatives = find<x509.SubjectAlternativeNameExtension>("2.5.29.17");
  const issuerKey = issuer?.getExtension<x509.SubjectKeyIdentifierExtension>("2.5.29.14")?.keyId;
  const subject = certificate.subjectName.toJSON();
  return {
    pemHeader: decodeFirstPem(pem).label,
    endsWithNewline: pem.endsWith("\n"),
    version: 3,
    subject: subject.flatMap((part) =>
      Object.entries(part).flatMap(([name, values]) => values.map((value) => `${name}=${value}`))
    ),
    subjectRDNs: subject.length,
    issuerIsSubject: certificate.issuer === certificate.subject,
    signatureAlgorithm: signatureName(certificate),
    publicKey: publicKeyName(certificate),
    notBefore: certificate.notBefore.toISOString().replace(".000Z", "Z"),
    validSeconds: (certificate.notAfter.getTime() - certificate.notBefore.getTime()) / 1000,
    serialPositiveUpTo128Bits: isSerialGood(serialOf(new Uint8Array(certificate.rawData))),
    keyUsage: keyUsages(find<x509.KeyUsagesExtension>("2.5.29.15")?.usages ?? 0),
    extKeyUsage: (find<x509.ExtendedKeyUsageExtension>("2.5.29.37")?.usages ?? [])
      .map((usage) => EXTENDED_USAGES[String(usage)] ?? String(usage)),
    isCA: constraints?.ca ?? false,
    hasBasicConstraints: constraints !== null,
    subjectKeyIdBytes: (subjectKey?.keyId.length ?? 0) / 2,
    authorityKeyId: authorityKey === null
      ? "absent"
      : authorityKey.keyId === issuerKey
      ? "issuer's subjectKeyId"
      : "other",
    subjectAltNames: alternatives?.names.items.length ?? 0,
    extensionOrder: certificate.extensions.map(({ type, critical }) =>
      `${EXTENSION_NAMES[type] ?? type}${critical ? " critical" : ""}`
    ),
    signedBy: await signerOf(certificate, issuer),
  };
}

function signatureName({ signatureAlgorithm }: x509.X509Certificate): string {
  const { name, hash } = signatureAlgorithm as { name: string; hash?: { name: string } };
  if (name === "Ed25519" || name === "EdDSA") return "Ed25519";
  const family = name.startsWith("RSA") ? "RSA" : name;
  return `${family}-${(hash?.name ?? "").replace("SHA-", "SHA")}`;
}

function publicKeyName({ publicKey }: x509.X509Certificate): string {
  const { name, namedCurve, modulusLength } = publicKey.algorithm as {
    name: string;
    namedCurve?: string;
    modulusLength?: number;
  };
  if (name === "ECDSA") return `ECDSA-${namedCurve}`;
  return modulusLength === undefined ? "Ed25519" : `RSA-${modulusLength}`;
}

/** The bytes of the serial number as signed, where a first byte from 0x80 on means a negative one. */
function serialOf(der: Uint8Array): Uint8Array {
  // Two sequences are open, then comes the version in five bytes.
  const start = headerEnd(der, headerEnd(der, 0)) + 5;
  return der.subarray(start + 2, start + 2 + (der[start + 1] ?? 0));
}

function headerEnd(der: Uint8Array, at: number): number {
  const length = der[at + 1] ?? 0;
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}

function isSerialGood(bytes: Uint8Array): boolean {
  const [first = 0x80] = bytes;
  return first < 0x80 && bytes.length <= (first === 0 ? 17 : 16);
}

function keyUsages(flags: number): readonly string[] {
  return (["digitalSignature", "keyEncipherment", "keyCertSign"] as const)
    .filter((name) => (flags & x509.KeyUsageFlags[name]) !== 0);
}

async function signerOf(
  certificate: x509.X509Certificate,
  issuer: x509.X509Certificate | undefined,
): Promise<string> {
  const verify = (publicKey: x509.PublicKey) =>
    certificate.verify({ publicKey, signatureOnly: true }, crypto);
  if (await verify(certificate.publicKey)) return "itself";
  return issuer !== undefined && await verify(issuer.publicKey) ? "the authority" : "another";
}

function profileBase64(text: string): Profile {
  if (text === "") return { alphabet: "absent", length: 0 };
  const alphabet = /[+/]/.test(text) ? "standard " : /[-_]/.test(text) ? "URL-safe " : "";
  const bytes = Uint8Array.fromBase64(text, {
    alphabet: /[-_]/.test(text) ? "base64url" : "base64",
  });
  return {
    alphabet: `${alphabet}base64 with${text.length % 4 === 0 ? "" : "out"} padding`,
    length: text.length,
    decodedBytes: bytes.length,
  };
}

function profileToken(text: string): Profile {
  const isToken = /^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(text);
  return { alphabet: isToken ? "[a-z0-9]{6}.[a-z0-9]{16}" : "other", length: text.length };
}
