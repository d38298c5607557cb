// SPDX-License-Identifier: AGPL-3.0-or-later

/** `batuta version`: what was built. @module */

import { Command } from "commander";
import { VERSION } from "../base/version.ts";

/** Prints the version of the program and of the runtime below it. */
export function versionCommand(): Command {
  return new Command("version")
    .description("print the version")
    .action(() => console.log(`batuta ${VERSION} (deno ${Deno.version.deno})`));
}
