// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * PEM blocks as Talos writes and reads them.
 *
 * Talos keeps Ed25519 keys (PKCS#8) under the header `ED25519 PRIVATE KEY`, which no TLS library
 * knows: a client that is handed such a key silently sends no certificate. Keys that leave this
 * folder for a TLS library therefore go through {@linkcode toTlsKeyPem}.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/** One PEM block. */
export interface PemBlock {
  readonly label: string;
  readonly der: Uint8Array<ArrayBuffer>;
}

/** The PEM headers of keys that Talos knows. */
export const KEY_LABELS = {
  ed25519: "ED25519 PRIVATE KEY",
  ec: "EC PRIVATE KEY",
  rsa: "RSA PRIVATE KEY",
  pkcs8: "PRIVATE KEY",
} as const;

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\s*([A-Za-z0-9+/=\s]*?)-----END \1-----/g;

/** Bytes of standard base64 with its padding, as Go reads it; throws for anything else. */
export function fromStrictBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
}

/** Writes one block: 64 columns of base64, and a newline at the end. */
export function encodePem(label: string, der: Uint8Array): string {
  const lines = der.toBase64().match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${
    lines.map((line) => line + "\n").join("")
  }-----END ${label}-----\n`;
}

/** Reads all blocks of a text; text between blocks is skipped. */
export function decodePem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const match of text.matchAll(BLOCK)) {
    try {
      blocks.push({
        label: match[1] ?? "",
        der: fromStrictBase64((match[2] ?? "").replace(/\s+/g, "")),
      });
    } catch {
      throw new CodedError("invalidArgument", `Cannot read PEM block "${match[1]}": bad base64`);
    }
  }
  return blocks;
}

/** Reads the only block that matters of a text: its first one. */
export function decodeFirstPem(text: string): PemBlock {
  const [block] = decodePem(text);
  if (block === undefined) {
    throw new CodedError("invalidArgument", "Cannot read PEM: the text holds no block");
  }
  return block;
}

/** Rewrites the Ed25519 header of Talos to the one that TLS libraries and WebCrypto know. */
export function toTlsKeyPem(keyPem: string): string {
  return keyPem.replaceAll(KEY_LABELS.ed25519, KEY_LABELS.pkcs8);
}

/** Base64 of a PEM text: the form of certificates and keys inside configurations. */
export function pemToBase64(pem: string): string {
  return new TextEncoder().encode(pem).toBase64();
}

/** A certificate and its key in the form of {@linkcode pemToBase64}. */
export function pairToBase64(
  { crt, key }: { readonly crt: string; readonly key: string },
): { readonly crt: string; readonly key: string } {
  return { crt: pemToBase64(crt), key: pemToBase64(key) };
}

/** The text behind {@linkcode pemToBase64}. */
export function pemFromBase64(base64: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(fromStrictBase64(base64));
  } catch {
    throw new CodedError("invalidArgument", "Cannot read certificate or key: not base64 of a text");
  }
}
