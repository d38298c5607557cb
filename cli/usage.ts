// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Mistakes of whoever typed the command or wrote its files, as opposed to failures.
 *
 * @module
 */

import { CommanderError } from "commander";

/** Says what is wrong with the command line or a file, and makes the program end with code 2. */
export function usageError(message: string): CommanderError {
  console.error(`batuta: ${message}`);
  return new CommanderError(2, "batuta.usage", message);
}
