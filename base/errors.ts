// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The one error class of the project and its closed list of codes.
 *
 * Code that reacts to an error branches on `code`, never on the class of the error.
 *
 * @module
 */

/**
 * What went wrong, as a caller needs to know it.
 *
 * The names are those of gRPC's status codes, plus the finer distinctions that the state makes:
 * `conflict` (version or finalizers), `ownerConflict`, `phaseConflict` and `unsupported`.
 */
export type ErrorCode =
  | "aborted"
  | "alreadyExists"
  | "cancelled"
  | "conflict"
  | "dataLoss"
  | "deadlineExceeded"
  | "failedPrecondition"
  | "internal"
  | "invalidArgument"
  | "notFound"
  | "outOfRange"
  | "ownerConflict"
  | "permissionDenied"
  | "phaseConflict"
  | "resourceExhausted"
  | "unauthenticated"
  | "unavailable"
  | "unimplemented"
  | "unknown"
  | "unsupported";

/** Options of {@linkcode CodedError}. */
export interface CodedErrorOptions {
  /** The error that led to this one; its text is never repeated in the message. */
  readonly cause?: unknown;
  /** Machine-readable particulars, free of secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An expected kind of failure, told apart by its {@linkcode ErrorCode}. */
export class CodedError extends Error {
  override readonly name = "CodedError";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: CodedErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** The code of an error, or `undefined` for an error without one. */
export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof CodedError ? error.code : undefined;
}

/** The text of an error and of all its causes, outermost first, on one line. */
export function formatError(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  // A cause chain is short; the bound guards against a cycle.
  for (let depth = 0; current !== undefined && current !== null && depth < 10; depth++) {
    parts.push(current instanceof Error ? current.message : String(current));
    current = current instanceof Error ? current.cause : undefined;
  }
  return parts.filter((part) => part !== "").join(": ");
}
