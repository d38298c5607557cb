// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The command line: what subcommands there are, each loaded when it is asked for.
 *
 * @module
 */

import { Command, CommanderError } from "commander";
import { formatError } from "../base/errors.ts";
import { keepPermissions, permissionsOf } from "./permissions.ts";

/** The subcommands with what help says of them. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serveCommand(),
  lab: async () => (await import("./lab.ts")).labCommand(),
  ctl: async () => (await import("./ctl.ts")).ctlCommand(),
  config: async () => (await import("./config.ts")).configCommand(),
  dictionary: async () => (await import("./dictionary.ts")).dictionaryCommand(),
  key: async () => (await import("./key.ts")).keyCommand(),
  version: async () => (await import("./version.ts")).versionCommand(),
};

/** Exit codes: 0 success, 1 failure, 2 wrong usage or configuration. */
export async function run(args: readonly string[]): Promise<void> {
  keepPermissions(permissionsOf(args));
  const name = args[0] ?? "";
  const load = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  const program = new Command("batuta")
    .description("One point of control over many Kubernetes clusters on Talos Linux machines")
    .exitOverride();
  // Help names every subcommand, so it loads them all; a single one loads nothing but itself.
  const commands = load === undefined
    ? await Promise.all(Object.values(SUBCOMMANDS).map((each) => each()))
    : [await load()];
  for (const command of commands) program.addCommand(inheritExit(command));
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    Deno.exitCode = exitCodeOf(error);
  }
}

function inheritExit(command: Command): Command {
  command.exitOverride();
  command.commands.forEach((child) => inheritExit(child as Command));
  return command;
}

function exitCodeOf(error: unknown): number {
  // Commander has printed its own message; help and version end the program without a fault.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  console.error(`batuta: ${formatError(error)}`);
  return 1;
}
