// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Base64 as gRPC metadata uses it: padding is not sent, and accepted with or without.
 *
 * @module
 */

/** Encodes without padding. */
export function encodeBase64(bytes: Uint8Array): string {
  return bytes.toBase64({ omitPadding: true });
}

/** Decodes with or without padding, or returns `undefined` for text that is not base64. */
export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    // fromBase64() reports bad text only by throwing.
    return undefined;
  }
}
