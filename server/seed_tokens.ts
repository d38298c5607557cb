// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Secrets as text.
 *
 * @module
 */

const BASE_62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Writes random bytes as text that needs no escaping in URLs, YAML or command lines. */
export function encodeToken(bytes: Uint8Array): string {
  let value = BigInt(`0x${bytes.toHex()}`);
  let text = "";
  for (; value > 0n; value /= 62n) text = (BASE_62[Number(value % 62n)] ?? "") + text;
  return text;
}
