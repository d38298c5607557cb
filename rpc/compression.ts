// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Compression of gRPC messages.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createGunzip, gunzipSync, gzipSync } from "node:zlib";
import { CodedError } from "../base/errors.ts";
import { lineTurn } from "./turns.ts";

/** What is accepted, as `grpc-accept-encoding` says it. */
export const ACCEPTED_ENCODINGS = "identity,gzip";

/** How many times its size a gzip can grow at most. */
export const MAX_GROWTH = 1032;

// What honest messages stay below; this much is decompressed in about a millisecond.
const USUAL_GROWTH = 32;
const USUAL_BYTES = 512 * 1024;

const PIECE_BYTES = 256 * 1024;

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
    if (cause instanceof RangeError) throw tooLarge(maxBytes);
    throw notGzip(cause);
  }
}

/**
 * Decompresses a gzip at once when it is of a usual kind, and returns `undefined` for one that grows
 * so much that it would keep the thread for long.
 */
export function decompressUsual(bytes: Uint8Array): Uint8Array | undefined {
  try {
    const maxOutputLength = Math.max(USUAL_BYTES, bytes.length * USUAL_GROWTH);
    const plain = gunzipSync(bytes, { maxOutputLength });
    return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
  } catch (cause) {
    if (cause instanceof RangeError) return undefined;
    throw notGzip(cause);
  }
}

/** Decompresses a gzip piece by piece over several turns. Throws a `CodedError`. */
export async function decompressSlowly(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: PIECE_BYTES });
  const pieces: Uint8Array[] = [];
  let length = 0;
  gunzip.end(bytes);
  try {
    for await (const piece of gunzip) {
      length += piece.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      pieces.push(piece);
      const turn = lineTurn();
      if (turn !== undefined) await turn;
    }
  } catch (cause) {
    throw cause instanceof CodedError ? cause : notGzip(cause);
  } finally {
    gunzip.destroy();
  }
  const plain = Buffer.concat(pieces, length);
  return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
}

/** Compresses a message with gzip. */
export function compress(bytes: Uint8Array): Uint8Array {
  const packed = gzipSync(bytes);
  return new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength);
}

function tooLarge(maxBytes: number): CodedError {
  return new CodedError("resourceExhausted", `A message is larger than ${maxBytes} bytes`);
}

function notGzip(cause: unknown): CodedError {
  return new CodedError("internal", "Cannot read a message: it is no gzip", { cause });
}
