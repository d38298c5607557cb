// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Resources in YAML files.
 *
 * @module
 */

import { toBinary } from "@bufbuild/protobuf";
import { type Document, parseAllDocuments } from "yaml";
import { CodedError } from "../base/errors.ts";
import { hasTooManyQuotes } from "../base/yaml_quotes.ts";
import type { Metadata } from "../cosi/resource.ts";
import type { ResourceDraft } from "../cosi/state/state.ts";
import { CATALOGUE } from "../resources/catalogue.ts";
import { readYamlSpec } from "../resources/yaml_read.ts";

/** What the metadata of a document may hold; the server decides on all but these. */
const WRITABLE_KEYS = ["namespace", "type", "id", "labels", "annotations"];
/** What it may hold because the server writes it into what it shows. */
const IGNORED_KEYS = ["version", "owner", "phase", "created", "updated", "finalizers"];

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuse(where: string, problem: string): CodedError {
  return new CodedError("invalidArgument", `Cannot read ${where}: ${problem}`);
}

function resolveAliases(where: string, document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    // The library throws for aliases without an anchor and for those that expand to too much.
    throw refuse(where, cause instanceof Error ? cause.message : String(cause));
  }
}

function readText(where: string, key: string, value: unknown): string {
  if (typeof value === "string" && value !== "") return value;
  throw refuse(where, `metadata.${key} must be a text that is not empty`);
}

function readPairs(where: string, key: string, value: unknown): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) throw refuse(where, `metadata.${key} must be a mapping`);
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => {
      // A label without a value is common; YAML makes null of it.
      if (text === null) return [name, ""];
      if (typeof text === "string") return [name, text];
      throw refuse(where, `metadata.${key}["${name}"] must be a text; put it in quotes`);
    }),
  );
}

function readMetadata(where: string, value: unknown): Metadata {
  if (!isRecord(value)) throw refuse(where, "metadata must be a mapping");
  const unknown = Object.keys(value).find((key) =>
    !WRITABLE_KEYS.includes(key) && !IGNORED_KEYS.includes(key)
  );
  if (unknown !== undefined) {
    const known = WRITABLE_KEYS.join(", ");
    throw refuse(where, `metadata.${unknown} is not a known key; known are ${known}`);
  }
  const type = readText(where, "type", value.type);
  return {
    namespace: value.namespace === undefined
      ? CATALOGUE.find((declared) => declared.type === type)?.namespace ?? "default"
      : readText(where, "namespace", value.namespace),
    type,
    id: readText(where, "id", value.id),
    version: 0,
    owner: "",
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels: readPairs(where, "labels", value.labels),
    annotations: readPairs(where, "annotations", value.annotations),
  };
}

function readDocument(where: string, value: unknown): ResourceDraft {
  if (!isRecord(value)) throw refuse(where, "it must be a mapping with metadata and spec");
  const unknown = Object.keys(value).find((key) => key !== "metadata" && key !== "spec");
  if (unknown !== undefined) throw refuse(where, `"${unknown}" is neither metadata nor spec`);
  const metadata = readMetadata(where, value.metadata);
  const declared = CATALOGUE.find(({ type }) => type === metadata.type);
  if (declared === undefined) {
    throw refuse(where, `type "${metadata.type}" is not known to this program`);
  }
  try {
    const spec = readYamlSpec(declared.schema, value.spec);
    return { metadata, protoSpec: toBinary(declared.schema, spec), yamlSpec: "" };
  } catch (cause) {
    throw new CodedError("invalidArgument", `Cannot read ${where}`, { cause });
  }
}

/**
 * Reads all documents of a text.
 *
 * @param name What the text is called in errors.
 * @throws CodedError `invalidArgument` naming the document and what is wrong with it.
 */
export function readDocuments(text: string, name: string): readonly ResourceDraft[] {
  if (hasTooManyQuotes(text)) throw refuse(name, "it has too many quotes in single quotes");
  const parsed = parseAllDocuments(text, { intAsBigInt: true, prettyErrors: true });
  // Only an empty stream comes as something else than a list of documents.
  const documents = Array.isArray(parsed) ? parsed : [];
  return documents.flatMap((document, index) => {
    const where = documents.length === 1 ? name : `${name}, document ${index + 1}`;
    const [error] = document.errors;
    if (error !== undefined) throw refuse(where, error.message);
    const value = resolveAliases(where, document);
    return value === null ? [] : [readDocument(where, value)];
  });
}
