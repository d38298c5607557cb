// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs an operation that is described by data: the form of `batuta config OP --input FILE`.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { bundleFromYaml } from "./bundle.ts";
import { loadConfig } from "./config_load.ts";
import { parseContract } from "./contract.ts";
import { diffWithHeader } from "./diff.ts";
import { generateConfig } from "./generate.ts";
import type { GenerateOptions, MachineType } from "./generate_input.ts";
import { applyPatches } from "./patch.ts";
import { profileBundle, profileTalosconfig } from "./profile.ts";
import { redactConfig } from "./redact.ts";
import { parseTalosconfig } from "./talosconfig.ts";
import { validateConfig, type ValidationMode } from "./validate.ts";
import { reportFindings } from "./validation_report.ts";

/** Operations that can be described by data. */
export const OPERATIONS = ["generate", "patch", "validate", "redact", "diff", "profile"] as const;

/** One of {@linkcode OPERATIONS}. */
export type OperationName = typeof OPERATIONS[number];

/** An operation with its inputs; file names are resolved by the caller. */
export interface Operation {
  readonly op: OperationName;
  /** A configuration to work on, instead of a generated one. */
  readonly base?: string;
  readonly bundleFile?: string;
  readonly talosconfigFile?: string;
  readonly clusterName?: string;
  readonly endpoint?: string;
  readonly kubernetesVersion?: string;
  readonly contract?: string;
  readonly machineType?: string;
  readonly options?: GenerateOptions;
  readonly patchFiles?: readonly string[];
  readonly redact?: boolean;
  readonly mode?: ValidationMode;
  readonly strict?: boolean;
  readonly talosVersion?: string;
}

/** What an operation printed. */
export interface OperationOutput {
  readonly stdout: string;
  /** An error that is part of the result, as of a validation. */
  readonly error?: string;
}

/** Reads an operation from JSON. */
export function parseOperation(text: string): Operation {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CodedError("invalidArgument", "Cannot read operation: want a JSON object");
  }
  const op = typeof value === "object" && value !== null
    ? (value as { op?: unknown }).op
    : undefined;
  if (!OPERATIONS.some((name) => name === op)) {
    const known = OPERATIONS.join(", ");
    throw new CodedError("invalidArgument", `Cannot read operation: op must be one of ${known}`);
  }
  return value as Operation;
}

/**
 * Runs an operation.
 *
 * @param readFile Reads a file that the operation names.
 * @throws CodedError When the operation fails; its message is the expected error.
 */
export async function runOperation(
  operation: Operation,
  readFile: (name: string) => string,
): Promise<OperationOutput> {
  if (operation.op === "profile") return { stdout: await profile(operation, readFile) };
  const base = operation.base ?? generate(operation, readFile);
  const patches = (operation.patchFiles ?? []).map(readFile);
  const config = applyPatches(base, patches);
  switch (operation.op) {
    case "validate":
      return validate(config, operation);
    case "redact":
      return { stdout: redactConfig(config) };
    case "diff": {
      const show = (text: string) => operation.redact === true ? redactConfig(text) : text;
      return { stdout: diffWithHeader(show(base), show(config)) };
    }
    default:
      return { stdout: operation.redact === true ? redactConfig(config) : config };
  }
}

function required(operation: Operation, name: keyof Operation): string {
  const value = operation[name];
  if (typeof value !== "string") {
    throw new CodedError("invalidArgument", `Cannot run "${operation.op}": "${name}" is missing`);
  }
  return value;
}

function generate(operation: Operation, readFile: (name: string) => string): string {
  return generateConfig({
    bundle: bundleFromYaml(readFile(required(operation, "bundleFile"))),
    clusterName: required(operation, "clusterName"),
    endpoint: required(operation, "endpoint"),
    kubernetesVersion: required(operation, "kubernetesVersion"),
    contract: parseContract(required(operation, "contract")),
    // The generator refuses other types by name.
    machineType: required(operation, "machineType") as MachineType,
    options: operation.options ?? {},
  });
}

function validate(config: string, operation: Operation): OperationOutput {
  // What does not load fails in the loader's own words.
  loadConfig(config);
  const findings = validateConfig(config, {
    mode: operation.mode ?? "metal",
    strict: operation.strict ?? false,
    ...(operation.talosVersion === undefined ? {} : { talosVersion: operation.talosVersion }),
  });
  const report = reportFindings(findings);
  const stdout = JSON.stringify(report, null, 2) + "\n";
  return report.text === undefined ? { stdout } : { stdout, error: report.text };
}

async function profile(operation: Operation, readFile: (name: string) => string): Promise<string> {
  const profiles = operation.talosconfigFile === undefined
    ? await profileBundle(bundleFromYaml(readFile(required(operation, "bundleFile"))))
    : await profileTalosconfig(parseTalosconfig(readFile(operation.talosconfigFile)));
  return JSON.stringify(profiles, null, 2) + "\n";
}
