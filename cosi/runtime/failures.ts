// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a failed reconcile means for its item.
 *
 * @module
 */

import { AssertionError } from "node:assert";
import { codeOf } from "../../base/errors.ts";
import { TerminalError } from "../controller.ts";

/** Somebody else wrote first: what was read is old, and looking again is enough. */
export class StaleRead extends Error {
  override readonly name = "StaleRead";
}

/** A controller broke a promise that it gave to the engine. */
export class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}

/**
 * The fate of an item after a failure: `stale` is tried again at once, `operating` after a back-off,
 * `terminal` and `broken` only after an input changed.
 */
export type Fate = "stale" | "operating" | "terminal" | "broken";

/** Decides the fate. */
export function fateOf(error: unknown): Fate {
  if (error instanceof StaleRead) return "stale";
  if (error instanceof TerminalError) return "terminal";
  if (error instanceof BrokenInvariant || error instanceof AssertionError) return "broken";
  return "operating";
}

/** Turns the conflicts that a write meets when its read is old into a {@linkcode StaleRead}. */
export function staleIfConflict(error: unknown): unknown {
  switch (codeOf(error)) {
    case "conflict":
    case "phaseConflict":
    case "alreadyExists":
    case "notFound":
      return new StaleRead("Cannot write: the resource changed since it was read", {
        cause: error,
      });
    default:
      return error;
  }
}
