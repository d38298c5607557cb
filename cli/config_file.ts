// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The configuration document of the server, as the subcommands that need it read it.
 *
 * @module
 */

import { CodedError, codeOf, formatError } from "../base/errors.ts";
import type { Config } from "../server/config/parse_config.ts";
import { usageError } from "./usage.ts";

/**
 * Reads a configuration document.
 *
 * @throws CommanderError with exit code 2 when it cannot be read or breaks a rule; what is wrong has
 *   been printed.
 */
export async function readConfig(path: string): Promise<Config> {
  const { parseConfig } = await import("../server/config/parse_config.ts");
  try {
    return parseConfig(await readDocument(path));
  } catch (error) {
    if (codeOf(error) !== "invalidArgument") throw error;
    throw usageError(formatError(error));
  }
}

async function readDocument(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw new CodedError("invalidArgument", `Cannot read configuration "${path}"`, { cause });
  }
}
