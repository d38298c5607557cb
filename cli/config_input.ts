// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the subcommands of `batuta config` share: flags, files, and how results are shown.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { CodedError, formatError } from "../base/errors.ts";
import { usageError } from "./usage.ts";

/** Flags of `batuta config generate`. */
export interface GenerateFlags {
  readonly input?: string;
  readonly bundle?: string;
  readonly clusterName?: string;
  readonly endpoint?: string;
  readonly kubernetesVersion?: string;
  readonly contract?: string;
  readonly machineType?: string;
  readonly patch?: readonly string[];
  readonly options?: string;
  readonly installDisk?: string;
  readonly installImage?: string;
  readonly san?: readonly string[];
  readonly allowScheduling?: boolean;
  readonly dnsDomain?: string;
  readonly kubePrismPort?: string;
  readonly sysctl?: readonly string[];
  readonly skipInstallDocument?: boolean;
}

/** Gathers the values of a flag that may be repeated. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

/** Adds the flags of generating. */
export function addGenerateOptions(command: Command): void {
  command
    .option("--bundle <file>", "secrets bundle, as YAML or JSON")
    .option("--cluster-name <name>", "name of the cluster")
    .option("--endpoint <url>", "URL of the Kubernetes API")
    .option("--kubernetes-version <version>", "first Kubernetes version of the cluster")
    .option("--contract <version>", "Talos version that the cluster was created with")
    .option("--machine-type <type>", "controlplane or worker")
    .option("--install-disk <path>", "disk to install to")
    .option("--install-image <image>", "image to install")
    .option("--san <name>", "another name or address of the cluster; may be repeated", collect, [])
    .option("--allow-scheduling", "let control planes run other pods")
    .option("--dns-domain <domain>", "DNS domain of the cluster")
    .option("--kube-prism-port <port>", "port of the in-cluster balancer, 0 for none")
    .option("--sysctl <name=value>", "kernel parameter; may be repeated", collect, [])
    .option("--skip-install-document", "leave out the document that makes a machine install itself")
    .option("--options <json>", "further options, by their names in an input file");
}

/** An operation from flags. */
export function toOperation(op: "generate", flags: GenerateFlags) {
  const required = (
    name: "bundle" | "clusterName" | "endpoint" | "kubernetesVersion" | "contract" | "machineType",
  ) => {
    const value = flags[name];
    if (value !== undefined) return value;
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw usageError(`--${flag} or --input is needed`);
  };
  return {
    op,
    bundleFile: required("bundle"),
    clusterName: required("clusterName"),
    endpoint: required("endpoint"),
    kubernetesVersion: required("kubernetesVersion").replace(/^v/, ""),
    contract: required("contract"),
    machineType: required("machineType"),
    patchFiles: flags.patch ?? [],
    options: { ...parseOptions(flags.options), ...optionFlags(flags) },
  };
}

function optionFlags(flags: GenerateFlags) {
  const sysctls = (flags.sysctl ?? []).map((text) => {
    const at = text.indexOf("=");
    if (at < 1) throw usageError(`--sysctl wants name=value: current value is "${text}"`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  return {
    ...(flags.installDisk === undefined ? {} : { installDisk: flags.installDisk }),
    ...(flags.installImage === undefined ? {} : { installImage: flags.installImage }),
    ...(flags.san?.length ? { additionalSubjectAltNames: flags.san } : {}),
    ...(flags.allowScheduling === true ? { allowSchedulingOnControlPlanes: true } : {}),
    ...(flags.dnsDomain === undefined ? {} : { dnsDomain: flags.dnsDomain }),
    ...(flags.kubePrismPort === undefined ? {} : { kubePrismPort: parsePort(flags.kubePrismPort) }),
    ...(sysctls.length === 0 ? {} : { sysctls: Object.fromEntries(sysctls) }),
    ...(flags.skipInstallDocument === true ? { skipUnattendedInstallConfig: true } : {}),
  };
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw usageError(`--kube-prism-port wants a port: current value is "${text}"`);
  }
  return Number(text);
}

function parseOptions(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Reported below: the parser's words help nobody here.
  }
  throw usageError("--options wants a JSON object");
}

/**
 * Reads a file as text; `-` is standard input.
 *
 * @throws CodedError `notFound` when it cannot be read.
 */
export function readText(path: string): string {
  try {
    return path === "-" ? readFileSync(0, "utf8") : Deno.readTextFileSync(path);
  } catch (cause) {
    throw new CodedError("notFound", `Cannot read file "${path}"`, { cause });
  }
}

/** Ends an operation whose result is an error. */
export function finish(error: string | undefined): void {
  if (error === undefined) return;
  console.error(error);
  Deno.exitCode = 1;
}

/**
 * Wraps the action of a subcommand: a failure is printed in its own words, without a prefix, because
 * scripts compare it with what Talos's own tools print. A mistake in a text is shown with its place.
 */
export function guarded<Args extends unknown[]>(
  action: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      await action(...args);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      const { line, column, source } = error.details;
      console.error(formatError(error));
      if (typeof source === "string") console.error(`  ${line}:${column} | ${source}`);
      Deno.exitCode = 1;
    }
  };
}

/** What {@linkcode printFindings} needs of a finding. */
interface ShownFinding {
  readonly severity: string;
  readonly message: string;
  readonly document?: string;
  readonly path?: string;
  readonly line?: number;
  readonly column?: number;
}

/** Prints findings with the place and the offending line of text. */
export function printFindings(
  file: string,
  text: string,
  findings: readonly ShownFinding[],
): void {
  const lines = text.split("\n");
  for (const { severity, message, document, path, line, column } of findings) {
    const at = line === undefined ? file : `${file}:${line}:${column}`;
    const what = [document, path].filter((part) => part !== undefined).join(" ");
    console.error(`${at}: ${severity}: ${what === "" ? "" : `${what}: `}${message.trimEnd()}`);
    const source = line === undefined ? undefined : lines[line - 1];
    // A line of a main document may hold a secret; only its key is shown.
    if (source !== undefined) console.error(`  | ${source.replace(/^(\s*[\w."'-]+:) .*/, "$1 …")}`);
  }
}
