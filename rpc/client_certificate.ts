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
  return (authorities.match(CERTIFICATE) ?? []).some((pem) => {
    const authority = new X509Certificate(pem);
    return certificate.issuer === authority.subject && certificate.verify(authority.publicKey);
  });
}
