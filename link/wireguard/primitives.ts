// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The cryptographic functions of the WireGuard protocol.
 *
 * X25519 and ChaCha20-Poly1305 are the runtime's own; XChaCha20, which only cookies need, comes from
 * a package.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  type KeyObject,
} from "node:crypto";
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { blake2s, hkdf, isKeyedBlake2s, keyedBlake2s } from "./blake2s.ts";

/** Size of keys and hashes. */
export const KEY_SIZE = 32;
/** Size of an authentication tag and of a MAC. */
export const TAG_SIZE = 16;

const ALGORITHM = "chacha20-poly1305";
const TAG_OPTIONS = { authTagLength: TAG_SIZE } as const;

// DER of a PKCS #8 private key and of an SPKI public key of X25519, up to the key itself: the
// runtime takes raw keys in no other way.
const PRIVATE_DER = Buffer.from("302e020100300506032b656e04220420", "hex");
const PUBLIC_DER = Buffer.from("302a300506032b656e032100", "hex");

/** Makes a key object of a raw X25519 private key. */
export function privateKeyFrom(raw: Uint8Array): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([PRIVATE_DER, raw]),
    format: "der",
    type: "pkcs8",
  });
}

/** The raw public key of a private key. */
export function publicKeyOfPrivate(privateKey: KeyObject): Uint8Array {
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  return Uint8Array.from(der.subarray(PUBLIC_DER.length));
}

/** The shared secret of two keys, or `undefined` for a public key that gives none (a weak point). */
export function dh(privateKey: KeyObject, publicKey: Uint8Array): Uint8Array | undefined {
  try {
    const key = createPublicKey({
      key: Buffer.concat([PUBLIC_DER, publicKey]),
      format: "der",
      type: "spki",
    });
    const secret = diffieHellman({ privateKey, publicKey: key });
    let any = 0;
    for (const byte of secret) any |= byte;
    return any === 0 ? undefined : Uint8Array.from(secret);
  } catch {
    // A weak point is refused by some versions of the runtime and answered with zeros by others.
    return undefined;
  }
}

/** BLAKE2s-256 of several pieces. */
export const hash = blake2s;

/** Keyed BLAKE2s-128. */
export function mac(key: Uint8Array, message: Uint8Array): Uint8Array {
  return keyedBlake2s(key, message, TAG_SIZE);
}

/** Whether `expected` is the keyed BLAKE2s-128 of a message. */
export function isMac(key: Uint8Array, message: Uint8Array, expected: Uint8Array): boolean {
  return expected.length === TAG_SIZE && isKeyedBlake2s(key, message, expected);
}

/** HKDF with HMAC-BLAKE2s: one output. */
export function kdf1(key: Uint8Array, input: Uint8Array): Uint8Array {
  return hkdf(key, input, 1);
}

/** HKDF with HMAC-BLAKE2s: two outputs. */
export function kdf2(key: Uint8Array, input: Uint8Array): [Uint8Array, Uint8Array] {
  const outputs = hkdf(key, input, 2);
  return [outputs.subarray(0, 32), outputs.subarray(32)];
}

/** HKDF with HMAC-BLAKE2s: three outputs. */
export function kdf3(key: Uint8Array, input: Uint8Array): [Uint8Array, Uint8Array, Uint8Array] {
  const outputs = hkdf(key, input, 3);
  return [outputs.subarray(0, 32), outputs.subarray(32, 64), outputs.subarray(64)];
}

// The runtime copies the nonce at once, so one buffer serves all messages.
const NONCE = new Uint8Array(12);

/** The nonce of a message number: four zero bytes, then the number, little-endian. */
function nonceOf(counter: number): Uint8Array {
  writeCounter(NONCE, 4, counter);
  return NONCE;
}

/** Writes a message number of up to 2^53 - 1 as 64 bits, little-endian. */
export function writeCounter(bytes: Uint8Array, offset: number, counter: number): void {
  let low = counter % 0x1_0000_0000;
  let high = (counter - low) / 0x1_0000_0000;
  for (let i = 0; i < 4; i++) {
    bytes[offset + i] = low & 0xff;
    bytes[offset + 4 + i] = high & 0xff;
    low >>>= 8;
    high >>>= 8;
  }
}

const EMPTY = new Uint8Array(0);

/** Encrypts into `out` at `offset`: the ciphertext, then the tag. */
export function sealInto(
  out: Uint8Array,
  offset: number,
  key: Uint8Array,
  counter: number,
  plaintext: Uint8Array,
  additional: Uint8Array = EMPTY,
): void {
  const cipher = createCipheriv(ALGORITHM, key, nonceOf(counter), TAG_OPTIONS);
  if (additional.length > 0) cipher.setAAD(additional, { plaintextLength: plaintext.length });
  if (plaintext.length > 0) out.set(cipher.update(plaintext), offset);
  cipher.final();
  out.set(cipher.getAuthTag(), offset + plaintext.length);
}

/** Decrypts ciphertext and tag; `undefined` when the tag is wrong. The result owns its memory. */
export function open(
  key: Uint8Array,
  counter: number,
  sealed: Uint8Array,
  additional: Uint8Array = EMPTY,
): Uint8Array | undefined {
  const length = sealed.length - TAG_SIZE;
  if (length < 0) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, nonceOf(counter), TAG_OPTIONS);
  if (additional.length > 0) decipher.setAAD(additional, { plaintextLength: length });
  decipher.setAuthTag(sealed.subarray(length));
  const plaintext = length > 0 ? decipher.update(sealed.subarray(0, length)) : EMPTY;
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  return new Uint8Array(plaintext.buffer, plaintext.byteOffset, plaintext.byteLength);
}

/** Encrypts a cookie: XChaCha20-Poly1305 with a random nonce of 24 bytes. */
export function sealCookie(
  key: Uint8Array,
  nonce: Uint8Array,
  cookie: Uint8Array,
  additional: Uint8Array,
): Uint8Array {
  return xchacha20poly1305(key, nonce, additional).encrypt(cookie);
}

/** Decrypts a cookie; `undefined` when the tag is wrong. */
export function openCookie(
  key: Uint8Array,
  nonce: Uint8Array,
  sealed: Uint8Array,
  additional: Uint8Array,
): Uint8Array | undefined {
  try {
    return xchacha20poly1305(key, nonce, additional).decrypt(sealed);
  } catch {
    return undefined;
  }
}

/** Compares two byte strings in a time that does not depend on where they differ. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}
