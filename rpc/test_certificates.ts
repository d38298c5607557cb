// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Certificates for tests of TLS, with Ed25519 keys.
 *
 * @module
 */

import "reflect-metadata";
import * as x509 from "@peculiar/x509";

/** A certificate and its key as PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate that signs others. */
export interface Authority extends Pair {
  readonly certificate: x509.X509Certificate;
  readonly keys: CryptoKeyPair;
}

const ALGORITHM = { name: "Ed25519" };

async function generateKeys(): Promise<CryptoKeyPair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  if (!("privateKey" in keys)) throw new TypeError("Ed25519 has key pairs");
  return keys;
}

async function pemKey(keys: CryptoKeyPair): Promise<string> {
  const der = new Uint8Array(await crypto.subtle.exportKey("pkcs8", keys.privateKey));
  const body = btoa(String.fromCharCode(...der));
  // The header that machines of this field use, on purpose.
  return `-----BEGIN ED25519 PRIVATE KEY-----\n${body}\n-----END ED25519 PRIVATE KEY-----\n`;
}

/** Makes an authority of its own. */
export async function createAuthority(): Promise<Authority> {
  x509.cryptoProvider.set(crypto);
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "O=authority",
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return { certificate, keys, cert: certificate.toString("pem"), key: await pemKey(keys) };
}

/** Makes a certificate for 127.0.0.1 and localhost. */
export async function issue(authority: Authority, subject: string): Promise<Pair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: authority.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: "ip", value: "127.0.0.1" },
        { type: "dns", value: "localhost" },
      ]),
    ],
  });
  return { cert: certificate.toString("pem"), key: await pemKey(keys) };
}
