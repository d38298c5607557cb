// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Mistakes of whoever typed the command, as opposed to failures.
 *
 * @module
 */

import { CommanderError } from "commander";
import { formatError } from "../base/errors.ts";
import type { LabelQuery } from "../cosi/state/label_query.ts";
import { parseSelector } from "../cosi/state/label_selector.ts";

/** Says what is wrong with the command line or a file, and makes the program end with code 2. */
export function usageError(message: string): CommanderError {
  console.error(`batuta: ${message}`);
  return new CommanderError(2, "batuta.usage", message);
}

/** Reads a label selector of the command line. */
export function readSelector(selector: string): LabelQuery {
  try {
    return parseSelector(selector);
  } catch (error) {
    throw usageError(formatError(error));
  }
}
