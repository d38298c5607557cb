// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Whether a client certificate is one of the cluster's.
 *
 * @module
 */

import { X509Certificate } from "node:crypto";
import { decodePem, encodePem } from "../talos/config/pem.ts";

/**
 * Whether a certificate was signed by one of the authorities and is valid now. Names do not count:
 * the authorities of all clusters are called the same.
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
  return decodePem(authorities).some(({ label, der }) => {
    const authority = new X509Certificate(encodePem(label, der));
    return certificate.issuer === authority.subject && certificate.verify(authority.publicKey);
  });
}
