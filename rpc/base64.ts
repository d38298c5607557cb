// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Base64 as gRPC metadata uses it: padding is not sent, and accepted with or without.
 *
 * @module
 */

/** Encodes without padding. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/=+$/, "");
}

/** Decodes with or without padding, or returns `undefined` for text that is not base64. */
export function decodeBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    // atob() reports bad text only by throwing.
    return undefined;
  }
}
