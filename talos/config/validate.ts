// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Tells what a machine would refuse about a configuration, all of it at once, with the document,
 * the path and the line.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { type CheckFinding, newChecks } from "./checks.ts";
import {
  arrangeDocuments,
  type ConfigModel,
  documentId,
  findType,
  type ModelDocument,
  readHeader,
} from "./config_load.ts";
import { parseContract } from "./contract.ts";
import { decodeStruct, isNullNode } from "./decode.ts";
import { documentType, MAIN_KIND } from "./schema.ts";
import { checkConflicts, checkWhole } from "./validate_conflicts.ts";
import { KUBERNETES_CHECKS } from "./validate_kubernetes.ts";
import { LINK_CHECKS } from "./validate_links.ts";
import { CONTAINER_CHECKS } from "./validate_containers.ts";
import { checkMain } from "./validate_main.ts";
import { NETWORK_CHECKS } from "./validate_network.ts";
import { STORAGE_CHECKS } from "./validate_storage.ts";
import { SYSTEM_CHECKS } from "./validate_system.ts";
import { VOLUME_CHECKS } from "./validate_volumes.ts";
import { StepBudget, type YamlNode, type YamlText } from "./yaml_node.ts";
import { parseYamlText } from "./yaml_parse.ts";

/** Where a configuration is to run: `metal` needs an installation, the others do not. */
export type ValidationMode = "metal" | "cloud" | "container";

/** Where a finding comes from: reading the text, one document, or documents together. */
export type FindingSource = "text" | "document" | "whole";

/** One thing that is wrong. */
export interface Finding {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly source: FindingSource;
  /** `v1alpha1`, or kind and name of the document; absent when no single one is meant. */
  readonly document?: string;
  /** Path of the field, such as `machine.install.disk`. */
  readonly path?: string;
  /** Line and column in the text, from 1. */
  readonly line?: number;
  readonly column?: number;
}

/** Options of {@linkcode validateConfig}. */
export interface ValidateOptions {
  readonly mode: ValidationMode;
  /** Version of Talos that is to accept the configuration; the newest known one if absent. */
  readonly talosVersion?: string;
  /** Warnings about the main document count as errors. */
  readonly strict?: boolean;
}

const DOCUMENT_CHECKS = {
  ...VOLUME_CHECKS,
  ...STORAGE_CHECKS,
  ...LINK_CHECKS,
  ...NETWORK_CHECKS,
  ...KUBERNETES_CHECKS,
  ...SYSTEM_CHECKS,
  ...CONTAINER_CHECKS,
};

interface PlacedDocument {
  readonly document: ModelDocument;
  readonly node: YamlNode;
}

/**
 * Checks a configuration; an empty list means that nothing is wrong.
 *
 * @throws CodedError `invalidArgument` for a version that cannot be read.
 */
export function validateConfig(text: string, options: ValidateOptions): Finding[] {
  const minor = options.talosVersion === undefined
    ? Infinity
    : parseContract(options.talosVersion) % 1000;
  const findings: Finding[] = [];
  try {
    const parsed = parseYamlText(text);
    const placed = readDocuments(parsed, minor, findings);
    checkDocuments(parsed, placed, { ...options, minor }, findings);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== "invalidArgument") throw error;
    findings.push({ severity: "error", message: error.message, source: "text", ...place(error) });
  }
  return findings;
}

function place({ details }: CodedError): { readonly line?: number; readonly column?: number } {
  const { line, column } = details;
  return typeof line === "number" && typeof column === "number" ? { line, column } : {};
}

/** Reads all documents and reports what the loader would stop at. */
function readDocuments(text: YamlText, minor: number, findings: Finding[]): PlacedDocument[] {
  const budget = new StepBudget();
  const placed: PlacedDocument[] = [];
  for (const { node } of text.roots) {
    if (isNullNode(node)) continue;
    const at = text.position(node.offset);
    const report = (message: string, extra: Partial<Finding> = {}) =>
      findings.push({ severity: "error", message, source: "text", ...at, ...extra });
    if (node.kind !== "map") {
      report(`expected a YAML document at line ${at.line}`);
      continue;
    }
    const header = readHeader(node);
    const found = findType(header);
    if (typeof found === "string") {
      report(found, { document: nameOf(header.kind, header.name) });
      continue;
    }
    const { kind, type } = found;
    const name = type.fields.has("name") && kind !== MAIN_KIND ? header.name : "";
    const id = documentId({ kind, name, type });
    if (type.since > minor) {
      report(`document is known from Talos 1.${type.since} on`, { document: id });
    }
    const { value, problems } = decodeStruct(type, node, budget, minor);
    for (const problem of problems) {
      const where = text.position(problem.offset);
      report(problem.message, { document: id, path: problem.path, ...where });
    }
    placed.push({ document: { kind, name, type, value }, node });
  }
  if (placed.length === 0 && findings.length === 0) {
    findings.push({ severity: "error", message: "config not found", source: "text" });
  }
  return placed;
}

function nameOf(kind: string, name: string): string {
  if (kind === "") return MAIN_KIND;
  return name === "" || documentType(kind)?.fields.has("name") === false ? kind : `${kind}/${name}`;
}

function checkDocuments(
  text: YamlText,
  placed: readonly PlacedDocument[],
  options: ValidateOptions & { readonly minor: number },
  findings: Finding[],
): void {
  const add = (
    severity: Finding["severity"],
    source: FindingSource,
    { message, path }: CheckFinding,
    at?: PlacedDocument,
  ) => {
    const document = at === undefined ? {} : { document: documentId(at.document) };
    const where = at === undefined ? {} : text.position(findOffset(at.node, path ?? ""));
    findings.push({
      severity,
      message,
      source,
      ...document,
      ...(path === undefined ? {} : { path }),
      ...where,
    });
  };
  const main = placed.find(({ document }) => document.kind === MAIN_KIND);
  for (
    const at of main === undefined ? placed : [main, ...placed.filter((each) => each !== main)]
  ) {
    const { kind, value } = at.document;
    const checks = newChecks();
    if (at === main) {
      checkMain(checks, value, {
        requiresInstall: options.mode === "metal",
        minor: options.minor,
      });
    } else DOCUMENT_CHECKS[kind]?.(checks, value);
    const isStrict = at === main && options.strict === true;
    for (const error of checks.errors) add("error", "document", error, at);
    for (const warning of checks.warnings) {
      const { message, path } = warning;
      if (isStrict) add("error", "document", { message: `warning: ${message}`, path }, at);
      else add("warning", "document", warning, at);
    }
  }
  const model = arrange(placed, findings);
  const conflicts = newChecks();
  checkConflicts(conflicts, model);
  for (const error of conflicts.errors) add("error", "whole", error, main);
  const whole = newChecks();
  checkWhole(whole, model, options.mode === "container");
  for (const error of whole.errors) add("error", "whole", error);
}

/** The documents as a model; contradictions are reported, and the model kept as it is. */
function arrange(placed: readonly PlacedDocument[], findings: Finding[]): ConfigModel {
  const documents = placed.map(({ document }) => document);
  try {
    return arrangeDocuments(documents);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    findings.push({ severity: "error", message: error.message, source: "text" });
    return documents;
  }
}

/** The offset of a field, or of the closest part of its path that the text has. */
function findOffset(root: YamlNode, path: string): number {
  let node = root;
  let offset = root.offset;
  // Keys may hold dots, so the longest key that fits is taken.
  let rest = path;
  while (rest !== "") {
    const index = /^\[(\d+)\]\.?/.exec(rest);
    if (index !== null) {
      const item = node.kind === "seq" ? node.items[Number(index[1])] : undefined;
      if (item === undefined) return offset;
      node = item;
      offset = item.offset;
      rest = rest.slice(index[0].length);
      continue;
    }
    const remaining = rest;
    const entry = node.kind === "map"
      ? node.entries.filter(({ key }) =>
        remaining === key || remaining.startsWith(`${key}.`) || remaining.startsWith(`${key}[`)
      ).sort((a, b) => b.key.length - a.key.length)[0]
      : undefined;
    if (entry === undefined) return offset;
    node = entry.value;
    offset = entry.keyOffset;
    rest = rest.slice(entry.key.length).replace(/^\./, "");
  }
  return offset;
}
