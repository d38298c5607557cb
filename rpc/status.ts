// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * gRPC status codes and their relation to the error codes of the project and to HTTP.
 *
 * @module
 */

import { codeOf, type ErrorCode } from "../base/errors.ts";

/** The status codes of the gRPC protocol. */
export const Code = {
  Ok: 0,
  Cancelled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
} as const;

/** A status code of the gRPC protocol. */
export type Code = typeof Code[keyof typeof Code];

const FROM_ERROR: Readonly<Record<ErrorCode, Code>> = {
  aborted: Code.Aborted,
  alreadyExists: Code.AlreadyExists,
  cancelled: Code.Cancelled,
  conflict: Code.FailedPrecondition,
  dataLoss: Code.DataLoss,
  deadlineExceeded: Code.DeadlineExceeded,
  failedPrecondition: Code.FailedPrecondition,
  internal: Code.Internal,
  invalidArgument: Code.InvalidArgument,
  notFound: Code.NotFound,
  outOfRange: Code.OutOfRange,
  ownerConflict: Code.PermissionDenied,
  permissionDenied: Code.PermissionDenied,
  phaseConflict: Code.FailedPrecondition,
  resourceExhausted: Code.ResourceExhausted,
  unauthenticated: Code.Unauthenticated,
  unavailable: Code.Unavailable,
  unimplemented: Code.Unimplemented,
  unknown: Code.Unknown,
  unsupported: Code.Unimplemented,
};

const TO_ERROR: readonly ErrorCode[] = [
  "unknown",
  "cancelled",
  "unknown",
  "invalidArgument",
  "deadlineExceeded",
  "notFound",
  "alreadyExists",
  "permissionDenied",
  "resourceExhausted",
  "failedPrecondition",
  "aborted",
  "outOfRange",
  "unimplemented",
  "internal",
  "unavailable",
  "dataLoss",
  "unauthenticated",
];

const NAMES: readonly string[] = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
];

/** The status code of an error code; of two codes of the project with one status both map to it. */
export function statusOfErrorCode(code: ErrorCode): Code {
  return FROM_ERROR[code];
}

/** The error code of a status code; one outside the protocol is `unknown`. */
export function errorCodeOfStatus(status: number): ErrorCode {
  return TO_ERROR[status] ?? "unknown";
}

/** The name of a status code as metrics spell it, for example `NotFound`. */
export function statusName(status: number): string {
  return NAMES[status] ?? `Code(${status})`;
}

/** The status code of a thrown value, or `undefined` when it has none and is a fault of ours. */
export function statusOfError(error: unknown): Code | undefined {
  const code = codeOf(error);
  return code === undefined ? undefined : statusOfErrorCode(code);
}

/** The status of a reply that is plain HTTP, as the gRPC protocol text maps it. */
export function statusOfHttp(httpStatus: number): Code {
  switch (httpStatus) {
    case 400:
      return Code.Internal;
    case 401:
      return Code.Unauthenticated;
    case 403:
      return Code.PermissionDenied;
    case 404:
      return Code.Unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return Code.Unavailable;
    default:
      return Code.Unknown;
  }
}

/** The status of a stream that ended with RST_STREAM, as the gRPC protocol text maps it. */
export function statusOfReset(http2Error: number): Code {
  switch (http2Error) {
    case 0x7: // REFUSED_STREAM
      return Code.Unavailable;
    case 0x8: // CANCEL
      return Code.Cancelled;
    case 0xb: // ENHANCE_YOUR_CALM
      return Code.ResourceExhausted;
    case 0xc: // INADEQUATE_SECURITY
      return Code.PermissionDenied;
    default:
      return Code.Internal;
  }
}

const encoder = new TextEncoder();

/** Encodes a message for the `grpc-message` header: UTF-8, percent-encoded outside of ` `…`~`. */
export function encodeStatusMessage(message: string): string {
  // Nearly every message is plain and needs no work. HTTP/2 forbids spaces at either end of a value.
  if (/^[ -$&-~]*$/.test(message)) return message.replace(/^ | $/g, "%20");
  let text = "";
  for (const byte of encoder.encode(message)) {
    text += byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      ? String.fromCharCode(byte)
      : "%" + byte.toString(16).toUpperCase().padStart(2, "0");
  }
  return text.replace(/^ | $/g, "%20");
}

/** Decodes a `grpc-message` header; what is not valid stays as it is. */
export function decodeStatusMessage(text: string): string {
  if (!text.includes("%")) return text;
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = text[at] === "%" ? text.slice(at + 1, at + 3) : "";
    if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(parseInt(hex, 16));
      at += 2;
    } else {
      bytes.push(text.charCodeAt(at) & 0xff);
    }
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
