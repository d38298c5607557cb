// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Whether a client certificate was issued by an authority that is trusted for it.
 *
 * The runtime's TLS only asks for a certificate; who signed it is looked at here.
 *
 * @module
 */

import { X509Certificate } from "node:crypto";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Reads any number of certificates in PEM. Throws an error for one that is damaged. */
export function parseAuthorities(pem: string): X509Certificate[] {
  return (pem.match(CERTIFICATE) ?? []).map((one) => new X509Certificate(one));
}

/**
 * Whether a certificate was signed by one of the authorities and is valid now. Names
 * alone do not count: anyone can choose them.
 *
 * @param authorities Any number of certificates, PEM.
 */
export function isIssuedBy(
  certificate: X509Certificate,
  authorities: string,
  nowMs: number,
): boolean {
  if (nowMs < Date.parse(certificate.validFrom) || nowMs > Date.parse(certificate.validTo)) {
    return false;
  }
  return parseAuthorities(authorities).some((authority) =>
    certificate.issuer === authority.subject && certificate.verify(authority.publicKey)
  );
}
