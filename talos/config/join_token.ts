// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Tokens with which machines join: a plain secret, or data signed with one.
 *
 * Version 1 is signed with the default join token, version 2 with the infrastructure provider's own.
 *
 * @module
 */

import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { CodedError } from "../../base/errors.ts";
import { fromStrictBase64 } from "./pem.ts";

/** Key of the signed data that names the infrastructure provider. */
export const INFRA_PROVIDER_KEY = "omni.sidero.dev/infra-provider-id";

/** Key of the signed data that names the machine request. */
export const MACHINE_REQUEST_KEY = "omni.sidero.dev/machine-request";

/** Form of a token. */
export type JoinTokenVersion = "plain" | "1" | "2";

/** A token as read. */
export interface JoinToken {
  readonly version: JoinTokenVersion;
  /** The token itself when it is plain, else empty. */
  readonly secret: string;
  readonly extraData: Readonly<Record<string, string>>;
  /** Signature over {@linkcode extraData}; empty for a plain token. */
  readonly signature: Uint8Array;
}

/** Signs data with a secret; without a version the token is the secret itself. */
export function encodeJoinToken(
  { secret, version = "plain", extraData = {} }: {
    readonly secret: string;
    readonly version?: JoinTokenVersion;
    readonly extraData?: Readonly<Record<string, string>>;
  },
): string {
  if (version === "plain") return secret;
  const signature = sign(secret, extraData).toBase64();
  const body = `{"extra_data":${goJson(extraData)},"signature":"${signature}"}`;
  return `v${version}:${new TextEncoder().encode(body).toBase64()}`;
}

/**
 * Reads a token; a text without a known prefix is a plain one.
 *
 * @throws CodedError `invalidArgument` for a damaged signed token.
 */
export function parseJoinToken(token: string): JoinToken {
  const match = /^v([12]):/.exec(token);
  if (match === null) {
    return { version: "plain", secret: token, extraData: {}, signature: new Uint8Array() };
  }
  let body: unknown;
  try {
    const bytes = fromStrictBase64(token.slice(3));
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // The reason would quote the token.
    throw new CodedError("invalidArgument", "Cannot read join token: want base64 of JSON");
  }
  return { version: match[1] as "1" | "2", secret: "", ...readBody(body) };
}

function readBody(body: unknown): Pick<JoinToken, "extraData" | "signature"> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new CodedError("invalidArgument", "Cannot read join token: want a JSON object");
  }
  const { extra_data: data = {}, signature = "" } = body as Record<string, unknown>;
  const isData = typeof data === "object" && !Array.isArray(data) &&
    Object.values(data ?? {}).every((value) => typeof value === "string");
  if (!isData || typeof signature !== "string") {
    throw new CodedError("invalidArgument", "Cannot read join token: data or signature is no text");
  }
  try {
    return {
      extraData: { ...data as Record<string, string> },
      signature: fromStrictBase64(signature),
    };
  } catch {
    throw new CodedError("invalidArgument", "Cannot read join token: signature is not base64");
  }
}

/** Whether a token was made with this secret; compares in constant time. */
export function isJoinTokenValid(token: JoinToken, secret: string): boolean {
  if (token.version === "plain") {
    const encoder = new TextEncoder();
    // Equal lengths hide where texts differ, hashes hide the length too.
    return equalBytes(sha256(encoder.encode(token.secret)), sha256(encoder.encode(secret)));
  }
  return token.signature.length > 0 && equalBytes(token.signature, sign(secret, token.extraData));
}

function sign(
  secret: string,
  extraData: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const mac = hmac(sha256, encoder.encode(secret), encoder.encode(goJson(extraData)));
  return new Uint8Array(mac);
}

function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (const [i, byte] of left.entries()) difference |= byte ^ (right[i] ?? 0);
  return difference === 0;
}

/** JSON as Go prints a map of texts: keys sorted, characters that matter in HTML escaped. */
function goJson(data: Readonly<Record<string, string>>): string {
  const encode = (text: string) =>
    JSON.stringify(text).replace(
      /[<>&\u2028\u2029]/g,
      (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const keys = Object.keys(data).sort();
  return `{${keys.map((key) => `${encode(key)}:${encode(data[key] ?? "")}`).join(",")}}`;
}
