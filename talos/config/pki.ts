// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Certificate authorities and the certificates that they sign, in the profile of Talos.
 *
 * An authority lives ten years and carries, in this order: key usage (critical), extended key usage,
 * basic constraints (critical), a random subject key identifier. A leaf has neither constraints nor
 * an identifier of its own; it names its issuer's.
 *
 * @module
 */

// @peculiar/x509 finds its implementations through decorators, which need this polyfill first.
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { CodedError } from "../../base/errors.ts";
import { generateKey, keyFromPem, type KeyKind, keyToPem, signingAlgorithm } from "./keys.ts";
import { decodeFirstPem, encodePem } from "./pem.ts";

/** Fills a buffer with random bytes; a parameter so that tests can fix it. */
export type RandomBytes = (length: number) => Uint8Array<ArrayBuffer>;

/** A certificate with its private key, both PEM under Talos's headers. */
export interface CertificateAndKey {
  readonly crt: string;
  readonly key: string;
}

/** Lifetime of an authority: 87,600 hours, as Talos's own generator gives it. */
export const CA_LIFETIME_MS = 87_600 * 3_600_000;

const OID_SUBJECT_KEY_IDENTIFIER = "2.5.29.14";
const OID_SUBJECT_ALTERNATIVE_NAME = "2.5.29.17";

/** What a leaf certificate is to say. */
export interface LeafProfile {
  /** Roles or groups, all in one set. */
  readonly organizations?: readonly string[];
  readonly commonName?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usages: readonly ("digitalSignature" | "keyEncipherment")[];
  readonly extendedUsages: readonly ("serverAuth" | "clientAuth")[];
  readonly notBeforeMs: number;
  readonly lifetimeMs: number;
}

/** The system's source of random bytes. */
export function systemRandom(length: number): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** Makes a self-signed authority. */
export async function createCa(
  { kind, organization, nowMs, random = systemRandom }: {
    readonly kind: KeyKind;
    /** Subject organization; without one the subject is empty. */
    readonly organization?: string;
    readonly nowMs: number;
    readonly random?: RandomBytes;
  },
): Promise<CertificateAndKey> {
  const key = await generateKey(kind);
  const notBefore = wholeSeconds(nowMs);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerial(random),
    name: organization === undefined ? [] : [{ O: [organization] }],
    notBefore,
    notAfter: new Date(notBefore.getTime() + CA_LIFETIME_MS),
    signingAlgorithm: signingAlgorithm(kind),
    keys: key,
    extensions: [
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign,
        true,
      ),
      new x509.ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]),
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.SubjectKeyIdentifierExtension(random(20).toHex()),
    ],
  }, crypto);
  return { crt: certificateToPem(certificate), key: await keyToPem(key) };
}

/** Makes a key of the authority's kind and a certificate for it. */
export async function issueCertificate(
  ca: CertificateAndKey,
  profile: LeafProfile,
  random: RandomBytes = systemRandom,
): Promise<CertificateAndKey> {
  const signer = await keyFromPem(ca.key);
  const key = await generateKey(signer.kind);
  const crt = await sign(ca, profile, key.publicKey, random);
  return { crt, key: await keyToPem(key) };
}

/**
 * Signs a request that someone else's key made. The profile decides everything but the public key:
 * nothing of the request's subject is taken over unless the caller does so.
 */
export async function signRequest(
  ca: CertificateAndKey,
  request: CertificateRequest,
  profile: LeafProfile,
  random: RandomBytes = systemRandom,
): Promise<string> {
  return await sign(ca, profile, request.publicKey, random);
}

/** What a certificate request asks for. */
export interface CertificateRequest {
  readonly publicKey: x509.PublicKey;
  readonly commonName: string | undefined;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/**
 * Reads a PEM certificate request and checks that its key signed it.
 *
 * @throws CodedError `invalidArgument` when the request is damaged or its signature is wrong.
 */
export async function parseRequest(pem: string): Promise<CertificateRequest> {
  try {
    const request = new x509.Pkcs10CertificateRequest(decodeFirstPem(pem).der);
    if (!await request.verify(crypto)) {
      throw new CodedError("invalidArgument", "the signature does not match the key");
    }
    const extension = request.getExtension(OID_SUBJECT_ALTERNATIVE_NAME);
    const names = extension instanceof x509.SubjectAlternativeNameExtension
      ? extension.names.items
      : [];
    return {
      publicKey: request.publicKey,
      commonName: request.subjectName.getField("CN")[0],
      dnsNames: names.filter(({ type }) => type === "dns").map(({ value }) => value),
      ipAddresses: names.filter(({ type }) => type === "ip").map(({ value }) => value),
    };
  } catch (cause) {
    throw new CodedError("invalidArgument", "Cannot read certificate request", { cause });
  }
}

/** Makes a key and a request for it, as a machine does. */
export async function createRequest(
  { kind, commonName, organizations, dnsNames = [], ipAddresses = [] }: {
    readonly kind: KeyKind;
    readonly commonName?: string;
    readonly organizations?: readonly string[];
    readonly dnsNames?: readonly string[];
    readonly ipAddresses?: readonly string[];
  },
): Promise<{ readonly csr: string; readonly key: string }> {
  const key = await generateKey(kind);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: subjectName(organizations, commonName),
    keys: key,
    signingAlgorithm: signingAlgorithm(kind),
    extensions: subjectAlternativeNames(dnsNames, ipAddresses),
  }, crypto);
  return {
    csr: encodePem("CERTIFICATE REQUEST", new Uint8Array(request.rawData)),
    key: await keyToPem(key),
  };
}

/** Reads a PEM certificate. */
export function parseCertificate(pem: string): x509.X509Certificate {
  try {
    return new x509.X509Certificate(decodeFirstPem(pem).der);
  } catch (cause) {
    throw new CodedError("invalidArgument", "Cannot read certificate", { cause });
  }
}

async function sign(
  ca: CertificateAndKey,
  profile: LeafProfile,
  publicKey: x509.PublicKeyType,
  random: RandomBytes,
): Promise<string> {
  const issuer = parseCertificate(ca.crt);
  const signer = await keyFromPem(ca.key);
  const notBefore = wholeSeconds(profile.notBeforeMs);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerial(random),
    subject: subjectName(profile.organizations, profile.commonName),
    issuer: issuer.subjectName,
    notBefore,
    notAfter: new Date(notBefore.getTime() + profile.lifetimeMs),
    signingAlgorithm: signingAlgorithm(signer.kind),
    signingKey: signer.privateKey,
    publicKey,
    extensions: leafExtensions(profile, issuer),
  }, crypto);
  return certificateToPem(certificate);
}

function leafExtensions(profile: LeafProfile, issuer: x509.X509Certificate): x509.Extension[] {
  const usages = profile.usages.reduce((flags, usage) => flags | x509.KeyUsageFlags[usage], 0);
  const extendedUsages = profile.extendedUsages.map((usage) =>
    usage === "serverAuth" ? "1.3.6.1.5.5.7.3.1" : "1.3.6.1.5.5.7.3.2"
  );
  const issuerKey = issuer.getExtension<x509.SubjectKeyIdentifierExtension>(
    OID_SUBJECT_KEY_IDENTIFIER,
  );
  return [
    new x509.KeyUsagesExtension(usages, true),
    new x509.ExtendedKeyUsageExtension(extendedUsages),
    ...(issuerKey === null ? [] : [new x509.AuthorityKeyIdentifierExtension(issuerKey.keyId)]),
    ...subjectAlternativeNames(profile.dnsNames ?? [], profile.ipAddresses ?? []),
  ];
}

function subjectName(
  organizations: readonly string[] | undefined,
  commonName: string | undefined,
): x509.JsonName {
  return [
    ...(organizations === undefined || organizations.length === 0
      ? []
      : [{ O: [...organizations] }]),
    ...(commonName === undefined ? [] : [{ CN: [commonName] }]),
  ];
}

function subjectAlternativeNames(
  dnsNames: readonly string[],
  ipAddresses: readonly string[],
): x509.Extension[] {
  if (dnsNames.length + ipAddresses.length === 0) return [];
  return [
    new x509.SubjectAlternativeNameExtension([
      ...dnsNames.map((value) => ({ type: "dns" as const, value })),
      ...ipAddresses.map((value) => ({ type: "ip" as const, value })),
    ]),
  ];
}

function certificateToPem(certificate: x509.X509Certificate): string {
  return encodePem("CERTIFICATE", new Uint8Array(certificate.rawData));
}

function wholeSeconds(timeMs: number): Date {
  return new Date(Math.floor(timeMs / 1000) * 1000);
}

/** A positive number of at most 128 bit, in hexadecimal. */
function randomSerial(random: RandomBytes): string {
  const hex = random(16).toHex().replace(/^(00)+/, "");
  if (hex === "") return "01";
  // DER integers are signed: a leading zero keeps the number positive.
  return hex >= "8" ? `00${hex}` : hex;
}
