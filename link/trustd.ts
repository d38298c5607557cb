// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The service by which a worker gets the certificate of its own API: it has no authority itself.
 *
 * @module
 */

import { create } from "@bufbuild/protobuf";
import { CodedError } from "../base/errors.ts";
import { Secret } from "../base/redact.ts";
import { CertificateResponseSchema, SecurityService } from "../proto/gen/talos/security_pb.ts";
import { implementService, type Service } from "../rpc/service.ts";

/** The port of trustd; fixed by Talos. */
export const TRUSTD_PORT = 50001;

/** A worker's request. */
export interface WorkerRequest {
  readonly remoteAddress: string;
  /** The cluster's machine token, as the worker presents it. */
  readonly token: Secret;
  /** PEM. */
  readonly request: string;
}

/** A worker's certificate with the authorities of its cluster, all PEM. */
export interface WorkerCertificate {
  readonly ca: string;
  readonly crt: string;
}

/** Issues certificates; throws `unauthenticated` for a wrong token. */
export interface TrustPort {
  issue(request: WorkerRequest): Promise<WorkerCertificate>;
}

const encoder = new TextEncoder();

/** The service over a port that issues. */
export function trustdService(port: TrustPort): Service {
  return implementService(SecurityService, {
    certificate: async ({ csr }, { metadata, remoteAddress }) => {
      const token = metadata.get("token");
      if (typeof token !== "string" || token === "") {
        throw new CodedError("unauthenticated", "Cannot issue certificate: the token is missing");
      }
      const request = new TextDecoder().decode(csr);
      const { ca, crt } = await port.issue({ remoteAddress, token: new Secret(token), request });
      return create(CertificateResponseSchema, {
        ca: encoder.encode(ca),
        crt: encoder.encode(crt),
      });
    },
  });
}
