// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Private keys: generation, and the PEM forms that Talos uses for each kind.
 *
 * Generation goes through WebCrypto, whose work happens off the main thread: an RSA key of 4096 bit
 * takes about a second of another core and does not delay this one.
 *
 * @module
 */

import { createPrivateKey } from "node:crypto";
import { CodedError } from "../../base/errors.ts";
import { decodeFirstPem, encodePem, KEY_LABELS, toTlsKeyPem } from "./pem.ts";

/** The kinds of keys in a cluster. */
export type KeyKind = "ed25519" | "ecdsa-p256" | "rsa-4096";

/** A private key with its public half, as WebCrypto knows them. */
export interface PrivateKey {
  readonly kind: KeyKind;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** The algorithm with which certificates are signed by a key of one kind. */
export type SigningAlgorithm = { readonly name: string; readonly hash?: string };

const ALGORITHMS = {
  "ed25519": { name: "Ed25519" },
  "ecdsa-p256": { name: "ECDSA", namedCurve: "P-256" },
  "rsa-4096": {
    name: "RSASSA-PKCS1-v1_5",
    modulusLength: 4096,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: "SHA-256",
  },
} as const;

/** Every signature of a cluster is Ed25519, or uses SHA-256. */
export function signingAlgorithm(kind: KeyKind): SigningAlgorithm {
  const { name } = ALGORITHMS[kind];
  return kind === "ed25519" ? { name } : { name, hash: "SHA-256" };
}

/** Makes a key. */
export async function generateKey(kind: KeyKind): Promise<PrivateKey> {
  const pair = await crypto.subtle.generateKey(ALGORITHMS[kind], true, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new CodedError("internal", `Cannot make a "${kind}" key pair`);
  return { kind, privateKey: pair.privateKey, publicKey: pair.publicKey };
}

/** Writes a key under the header that Talos expects for its kind. */
export async function keyToPem({ kind, privateKey }: PrivateKey): Promise<string> {
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  if (kind === "ed25519") return encodePem(KEY_LABELS.ed25519, pkcs8);
  const key = createPrivateKey(encodePem(KEY_LABELS.pkcs8, pkcs8));
  const pem = kind === "rsa-4096"
    ? key.export({ type: "pkcs1", format: "pem" })
    : key.export({ type: "sec1", format: "pem" });
  return pem.toString();
}

/** Reads a key under any of the headers that Talos accepts. */
export async function keyFromPem(pem: string): Promise<PrivateKey> {
  const { label, der } = decodeFirstPem(pem);
  if (!(Object.values(KEY_LABELS) as string[]).includes(label)) {
    throw new CodedError("invalidArgument", `Cannot read key: PEM header "${label}" is no key`);
  }
  try {
    const key = createPrivateKey(toTlsKeyPem(encodePem(label, der)));
    const kind = kindOf(key.asymmetricKeyType, key.asymmetricKeyDetails?.namedCurve);
    const pkcs8 = new Uint8Array(key.export({ type: "pkcs8", format: "der" }));
    const algorithm = ALGORITHMS[kind];
    const privateKey = await crypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]);
    return { kind, privateKey, publicKey: await publicKeyOf(privateKey, kind) };
  } catch (cause) {
    throw new CodedError("invalidArgument", `Cannot read key under PEM header "${label}"`, {
      cause,
    });
  }
}

function kindOf(type: string | undefined, curve: string | undefined): KeyKind {
  if (type === "ed25519") return "ed25519";
  if (type === "rsa") return "rsa-4096";
  if (type === "ec" && (curve === "prime256v1" || curve === "P-256")) return "ecdsa-p256";
  throw new CodedError(
    "invalidArgument",
    `Cannot use a key of type "${type}" and curve "${curve}"`,
  );
}

async function publicKeyOf(privateKey: CryptoKey, kind: KeyKind): Promise<CryptoKey> {
  const jwk = await crypto.subtle.exportKey("jwk", privateKey);
  for (const secret of ["d", "p", "q", "dp", "dq", "qi", "key_ops", "ext"] as const) {
    delete jwk[secret];
  }
  return await crypto.subtle.importKey("jwk", jwk, ALGORITHMS[kind], true, ["verify"]);
}
