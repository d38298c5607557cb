// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * WireGuard keys as text: 32 bytes in standard base64.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { CodedError } from "../base/errors.ts";
import { type RandomBytes, secureRandom } from "./addresses.ts";
import { privateKeyFrom, publicKeyOfPrivate } from "./wireguard/primitives.ts";

/** A private key and its public key, both base64. */
export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

const KEY_SIZE = 32;

/** Makes a new key pair. */
export function generateKey(random: RandomBytes = secureRandom): KeyPair {
  const privateKey = Buffer.from(random(KEY_SIZE)).toString("base64");
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/**
 * The public key that belongs to a private key.
 *
 * @throws CodedError `invalidArgument` when the text is no key.
 */
export function publicKeyOf(privateKey: string): string {
  const bytes = publicKeyOfPrivate(privateKeyFrom(keyBytes(privateKey, "private key")));
  return Buffer.from(bytes).toString("base64");
}

/** Whether a text is a WireGuard public key: canonical base64 of 32 bytes that are not all zero. */
export function isPublicKey(text: string): boolean {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === KEY_SIZE && bytes.toString("base64") === text &&
    bytes.some((byte) => byte !== 0);
}

/**
 * The bytes of a key.
 *
 * @param what What the key is, for the error; the key itself is never shown.
 * @throws CodedError `invalidArgument` when the text is no key.
 */
export function keyBytes(text: string, what: string): Uint8Array {
  if (!isPublicKey(text)) {
    throw new CodedError(
      "invalidArgument",
      `Cannot read ${what}: it must be 32 bytes in standard base64`,
    );
  }
  return Uint8Array.from(Buffer.from(text, "base64"));
}
