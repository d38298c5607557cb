// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Compression of gRPC messages.
 *
 * @module
 */

import { gunzipSync, gzipSync } from "node:zlib";
import { CodedError } from "../base/errors.ts";

/** What is accepted, as `grpc-accept-encoding` says it. */
export const ACCEPTED_ENCODINGS = "identity,gzip";

/**
 * Decompresses a message that was sent with `encoding`. Throws a `CodedError` when it cannot be, or
 * when it would be larger than `maxBytes`.
 */
export function decompress(
  bytes: Uint8Array,
  encoding: string | undefined,
  maxBytes: number,
): Uint8Array {
  if (encoding !== "gzip") {
    throw new CodedError("internal", "Cannot read a message: it is compressed without an encoding");
  }
  try {
    const plain = gunzipSync(bytes, { maxOutputLength: maxBytes });
    return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new CodedError("resourceExhausted", `A message is larger than ${maxBytes} bytes`, {
        cause,
      });
    }
    throw new CodedError("internal", "Cannot read a message: it is no gzip", { cause });
  }
}

/** Compresses a message with gzip. */
export function compress(bytes: Uint8Array): Uint8Array {
  const packed = gzipSync(bytes);
  return new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
}
