// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl`: the client of a running server. It loads no code of the server, and each command
 * loads its own part when it runs.
 *
 * @module
 */

import { Command, Option } from "commander";
import { withConnection } from "./ctl_connect.ts";
import { infraProviderCommand } from "./ctl_provider.ts";
import { FORMATS } from "./output.ts";

function withOutput(command: Command): Command {
  return command
    .option("-n, --namespace <name>", "namespace; the type's own when left out")
    .addOption(
      new Option("-o, --output <format>", "how to show resources")
        .choices(FORMATS).default("table"),
    );
}

function withSelector(command: Command): Command {
  return command.option(
    "-l, --selector <terms>",
    "label selector, for example a=b,c!=d,!e,f in (g,h)",
  );
}

function getCommand(): Command {
  return withSelector(withOutput(withConnection(new Command("get"))))
    .description("show resources of a type")
    .argument("<type>", "type by name, alias or unique beginning")
    .argument("[id...]")
    .option("-w, --watch", "go on with the changes")
    .action(async (type: string, ids: readonly string[], options: object) => {
      const { runGet } = await import("./ctl_get.ts");
      await runGet(type, ids, options);
    });
}

function listCommand(): Command {
  return withSelector(withOutput(withConnection(new Command("list"))))
    .description("show all resources of a type")
    .argument("<type>", "type by name, alias or unique beginning")
    .option("-w, --watch", "go on with the changes")
    .action(async (type: string, options: object) => {
      const { runGet } = await import("./ctl_get.ts");
      await runGet(type, [], options);
    });
}

function watchCommand(): Command {
  return withSelector(withOutput(withConnection(new Command("watch"))))
    .description("show resources and then their changes")
    .argument("<type>", "type by name, alias or unique beginning")
    .argument("[id]")
    .action(async (type: string, id: string | undefined, options: object) => {
      const { runGet } = await import("./ctl_get.ts");
      await runGet(type, id === undefined ? [] : [id], { ...options, watch: true });
    });
}

function applyCommand(): Command {
  return withConnection(new Command("apply"))
    .description("create or update the resources of YAML files")
    .requiredOption("-f, --file <path...>", 'files, folders, or "-" for standard input')
    .option("--dry-run", "show what would be done")
    .action(async (options: object) => {
      const { runApply } = await import("./ctl_apply.ts");
      await runApply(options);
    });
}

function editCommand(): Command {
  return withConnection(new Command("edit"))
    .description("edit a resource in $VISUAL or $EDITOR")
    .argument("<type>", "type by name, alias or unique beginning")
    .argument("<id>")
    .option("-n, --namespace <name>", "namespace; the type's own when left out")
    .action(async (type: string, id: string, options: object) => {
      const { runEdit } = await import("./ctl_edit.ts");
      await runEdit(type, id, options);
    });
}

function deleteCommand(): Command {
  return withSelector(withConnection(new Command("delete")))
    .description("remove resources and wait until they are gone")
    .argument("<type>", "type by name, alias or unique beginning")
    .argument("[id...]")
    .option("-n, --namespace <name>", "namespace; the type's own when left out")
    .option("--no-wait", "only mark them for removal")
    .action(async (type: string, ids: readonly string[], options: object) => {
      const { runDelete } = await import("./ctl_delete.ts");
      await runDelete(type, ids, options);
    });
}

function logsCommand(): Command {
  return withConnection(new Command("logs"))
    .description("show the kernel log of a machine")
    .argument("<machine>", "UUID of the machine")
    .option("-f, --follow", "go on with new lines")
    .option("-t, --tail <lines>", "only so many of the last lines")
    .option("--raw", "show the lines as they came, in JSON")
    .action(async (machine: string, options: object) => {
      const { runLogs } = await import("./ctl_logs.ts");
      await runLogs(machine, options);
    });
}

function explainCommand(): Command {
  return withConnection(new Command("explain"))
    .description("tell why a resource is not where it should be, and what stands in the way")
    .argument("<type>", "type by name, alias or unique beginning")
    .argument("<id>")
    .option("-n, --namespace <name>", "namespace; the type's own when left out")
    .action(async (type: string, id: string, options: object) => {
      const { runExplain } = await import("./ctl_explain.ts");
      await runExplain(type, id, options);
    });
}

function typesCommand(): Command {
  return withConnection(new Command("api-resources"))
    .description("list the types of the server")
    .addOption(
      new Option("-o, --output <format>", "how to show them").choices(["table", "name"])
        .default("table"),
    )
    .action(async (options: object) => {
      const { runTypes } = await import("./ctl_get.ts");
      await runTypes(options);
    });
}

function completionCommand(): Command {
  return new Command("completion")
    .description("print a completion script for a shell")
    .argument("<shell>", "bash, zsh or fish")
    .action(async (shell: string) => {
      const { runCompletion } = await import("./ctl_completion.ts");
      runCompletion(shell);
    });
}

function completeCommand(): Command {
  const command = withConnection(new Command("complete"))
    .description("print completions of a command line, for the scripts of `completion`")
    .argument("[word...]")
    .allowUnknownOption();
  return command.action(async (words: readonly string[], options: object) => {
    const { runComplete } = await import("./ctl_completion.ts");
    const siblings = command.parent?.commands.filter((other) => other !== command) ?? [];
    await runComplete(words, siblings.map((other) => other.name()), options);
  });
}

/** The command `ctl` with all that is under it. */
export function ctlCommand(): Command {
  const command = new Command("ctl").description("talk to a running server");
  command.addCommand(getCommand());
  command.addCommand(listCommand());
  command.addCommand(watchCommand());
  command.addCommand(applyCommand());
  command.addCommand(editCommand());
  command.addCommand(deleteCommand());
  command.addCommand(explainCommand());
  command.addCommand(logsCommand());
  command.addCommand(typesCommand());
  command.addCommand(infraProviderCommand());
  command.addCommand(completionCommand());
  command.addCommand(completeCommand(), { hidden: true });
  return command;
}
