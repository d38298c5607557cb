// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta config`: everything about machine configurations that needs no server.
 *
 * @module
 */

import { dirname, resolve } from "node:path";
import { Argument, Command, Option } from "commander";
import { bundleCommand, kubeconfigCommand, talosconfigCommand } from "./config_credentials.ts";
import {
  addGenerateOptions,
  collect,
  finish,
  type GenerateFlags,
  guarded,
  printFindings,
  readText,
  toOperation,
} from "./config_input.ts";
import { writeOutput } from "./output_write.ts";
import { usageError } from "./usage.ts";

/** Builds the subcommand. The library is loaded when an operation runs. */
export function configCommand(): Command {
  const command = new Command("config")
    .description("make, patch, check and compare machine configurations, without a server");
  command.addCommand(bundleCommand());
  command.addCommand(generateCommand());
  command.addCommand(patchCommand());
  command.addCommand(validateCommand());
  command.addCommand(redactCommand());
  command.addCommand(diffCommand());
  command.addCommand(profileCommand());
  command.addCommand(talosconfigCommand());
  command.addCommand(kubeconfigCommand());
  return command;
}

function operationCommand(name: string, description: string): Command {
  return new Command(name).description(description)
    .option("--input <file>", "take everything from a JSON file; names in it are relative to it");
}

/** Runs the operation of an input file; its `op` must be the subcommand. */
async function runInput(
  file: string,
  name: string,
  isJson = true,
): Promise<void> {
  const { parseOperation, runOperation } = await import("../talos/config/operation.ts");
  const operation = parseOperation(readText(file));
  if (operation.op !== name) {
    throw usageError(`"${file}" describes the operation "${operation.op}", not "${name}"`);
  }
  const folder = dirname(resolve(file));
  const { stdout, error } = await runOperation(
    operation,
    (path) => readText(resolve(folder, path)),
  );
  if (isJson) writeOutput(stdout);
  finish(error);
}

function generateCommand(): Command {
  const command = operationCommand("generate", "generate the configuration of a machine");
  addGenerateOptions(command);
  return command
    .option("--patch <file>", "apply a patch; may be repeated", collect, [])
    .action(guarded(async (flags: GenerateFlags) => {
      if (flags.input !== undefined) return await runInput(flags.input, "generate");
      const { runOperation } = await import("../talos/config/operation.ts");
      const { stdout } = await runOperation(toOperation("generate", flags), readText);
      writeOutput(stdout);
    }));
}

interface FileFlags {
  readonly input?: string;
  readonly patch?: readonly string[];
  readonly redact?: boolean;
}

interface PatchFlags extends FileFlags {
  readonly check?: boolean;
  readonly clean?: boolean;
}

function patchCommand(): Command {
  return operationCommand("patch", "apply patches to a configuration")
    .addArgument(new Argument("[file]", 'the configuration; "-" is standard input'))
    .option("--patch <file>", "a patch; may be repeated, the last one wins", collect, [])
    .option("--check", "refuse patches that set what the server decides about")
    .option("--clean", "print the patches without what the server decides about")
    .action(
      guarded(async (file: string | undefined, flags: PatchFlags) => {
        if (flags.input !== undefined) return await runInput(flags.input, "patch");
        const patches = (flags.patch ?? []).map(readText);
        const { checkUserPatch, sanitizeUserPatch } = await import("../talos/config/forbidden.ts");
        if (flags.clean === true) {
          const cleaned = patches.map(sanitizeUserPatch).filter((text) => text !== "");
          return writeOutput(cleaned.join("---\n"));
        }
        const base = readText(needFile(file));
        if (flags.check === true) patches.forEach(checkUserPatch);
        const { applyPatches } = await import("../talos/config/patch.ts");
        writeOutput(applyPatches(base, patches));
      }),
    );
}

interface ValidateFlags {
  readonly input?: string;
  readonly mode: "metal" | "cloud" | "container";
  readonly talosVersion?: string;
  readonly strict?: boolean;
  readonly output: "text" | "json";
}

function validateCommand(): Command {
  return operationCommand("validate", "tell what a machine would refuse")
    .addArgument(new Argument("[file]", 'the configuration; "-" is standard input'))
    .addOption(
      new Option("--mode <mode>", "where it is to run").choices(["metal", "cloud", "container"])
        .default("metal"),
    )
    .option("--talos-version <version>", "the Talos that is to accept it")
    .option("--strict", "warnings are errors")
    .addOption(
      new Option("-o, --output <format>", "form of the findings").choices(["text", "json"])
        .default("text"),
    )
    .action(guarded(async (file: string | undefined, flags: ValidateFlags) => {
      const isJson = flags.output === "json";
      if (flags.input !== undefined) return await runInput(flags.input, "validate", isJson);
      const text = readText(needFile(file));
      const { validateConfig } = await import("../talos/config/validate.ts");
      const findings = validateConfig(text, {
        mode: flags.mode,
        strict: flags.strict === true,
        ...(flags.talosVersion === undefined ? {} : { talosVersion: flags.talosVersion }),
      });
      if (isJson) writeOutput(JSON.stringify(findings, null, 2) + "\n");
      else printFindings(needFile(file), text, findings);
      if (findings.some(({ severity }) => severity === "error")) Deno.exitCode = 1;
    }));
}

function redactCommand(): Command {
  return operationCommand("redact", "replace the secrets of a configuration")
    .addArgument(new Argument("[file]", 'the configuration; "-" is standard input'))
    .action(guarded(async (file: string | undefined, flags: FileFlags) => {
      if (flags.input !== undefined) return await runInput(flags.input, "redact");
      const { redactConfig } = await import("../talos/config/redact.ts");
      writeOutput(redactConfig(readText(needFile(file))));
    }));
}

function diffCommand(): Command {
  return operationCommand("diff", "compare two configurations")
    .argument("[before]", "the first configuration")
    .argument("[after]", "the second configuration")
    .option("--redact", "replace secrets in both before comparing")
    .action(
      guarded(async (before: string | undefined, after: string | undefined, flags: FileFlags) => {
        if (flags.input !== undefined) return await runInput(flags.input, "diff");
        const { diffWithHeader } = await import("../talos/config/diff.ts");
        const { redactConfig } = await import("../talos/config/redact.ts");
        const show = (file: string | undefined) => {
          const text = readText(needFile(file));
          return flags.redact === true ? redactConfig(text) : text;
        };
        writeOutput(diffWithHeader(show(before), show(after)));
      }),
    );
}

function profileCommand(): Command {
  return operationCommand("profile", "describe what is not random in credentials")
    .argument("[file]", "a secrets bundle or a talosconfig, both as YAML")
    .addOption(
      new Option("-o, --output <format>", "form of the description").choices(["json"])
        .default("json"),
    )
    .action(guarded(async (file: string | undefined, flags: FileFlags) => {
      if (flags.input !== undefined) return await runInput(flags.input, "profile");
      const path = needFile(file);
      const { runOperation } = await import("../talos/config/operation.ts");
      // Read once: standard input is empty the second time.
      const text = readText(path);
      const isTalosconfig = /^contexts:/m.test(text);
      const { stdout } = await runOperation(
        { op: "profile", ...(isTalosconfig ? { talosconfigFile: path } : { bundleFile: path }) },
        () => text,
      );
      writeOutput(stdout);
    }));
}

function needFile(file: string | undefined): string {
  if (file === undefined) throw usageError("a file or --input is needed");
  return file;
}
