// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The headers that all requests of one method have in common.
 *
 * @module
 */

import { ACCEPTED_ENCODINGS } from "./compression.ts";
import type { HeaderTemplate } from "./hpack_encoder.ts";

/** Who calls whom. */
export interface RequestTarget {
  readonly authority: string;
  readonly scheme?: "http" | "https";
  readonly userAgent?: string;
}

/** The headers of calls of `path`. */
export function requestTemplate(path: string, target: RequestTarget): HeaderTemplate {
  const { authority, scheme = "http", userAgent = "batuta" } = target;
  return {
    fields: [
      ...[":method", "POST", ":scheme", scheme, ":path", path, ":authority", authority],
      ...["te", "trailers", "content-type", "application/grpc", "user-agent", userAgent],
      ...["grpc-accept-encoding", ACCEPTED_ENCODINGS],
    ],
  };
}
