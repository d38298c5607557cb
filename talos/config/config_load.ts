// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A configuration as typed documents: loaded strictly, printed back.
 *
 * Messages follow Talos's own loader, because people look them up.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { decodeStruct, type Fields, isNullNode } from "./decode.ts";
import { encodeDocument } from "./encode.ts";
import { documentType, MAIN_KIND, type StructType } from "./schema.ts";
import { type MapNode, StepBudget, type YamlNode, type YamlText } from "./yaml_node.ts";
import { parseYamlText, sourceLine } from "./yaml_parse.ts";
import { joinDocuments, writeYaml } from "./yaml_write.ts";

/** One document with its type. */
export interface ModelDocument {
  readonly kind: string;
  /** Empty for a document without a name, and for kinds that have none. */
  readonly name: string;
  readonly type: StructType;
  readonly value: Fields;
}

/** A configuration; the main document comes first. */
export type ConfigModel = readonly ModelDocument[];

/** What tells documents apart. */
export function documentId({ kind, name, type }: Omit<ModelDocument, "value">): string {
  return type.fields.has("name") && kind !== MAIN_KIND ? `${kind}/${name}` : kind;
}

/**
 * Loads a configuration strictly: unknown keys and documents are errors.
 *
 * @throws CodedError `invalidArgument`
 */
export function loadConfig(text: string): ConfigModel {
  const parsed = parseYamlText(text);
  const documents = loadRoots(parsed, parsed.roots.map(({ node }) => node));
  if (documents.length === 0) throw new CodedError("invalidArgument", "config not found");
  return arrangeDocuments(documents);
}

/** Prints a configuration. */
export function encodeConfig(model: ConfigModel): string {
  return joinDocuments(model.map(({ type, value }) => encodeDocument(type, value)));
}

/**
 * Puts the main document first and refuses documents that contradict each other.
 *
 * @throws CodedError `invalidArgument`
 */
export function arrangeDocuments(documents: readonly ModelDocument[]): ConfigModel {
  const seen = new Set<string>();
  const claimed = new Map<string, string>();
  for (const document of documents) {
    const id = document.kind === MAIN_KIND ? MAIN_KIND : containerId(document);
    if (seen.has(id)) {
      throw new CodedError(
        "invalidArgument",
        id === MAIN_KIND ? "duplicate v1alpha1.Config" : `duplicate document: ${id}`,
      );
    }
    seen.add(id);
    for (const claim of claimsOf(document)) {
      const owner = claimed.get(claim);
      if (owner !== undefined) {
        throw new CodedError("invalidArgument", `conflicting documents: ${owner} and ${id}`);
      }
      claimed.set(claim, id);
    }
  }
  const main = documents.filter(({ kind }) => kind === MAIN_KIND);
  return main.length === 0 || documents[0] === main[0]
    ? documents
    : [...main, ...documents.filter(({ kind }) => kind !== MAIN_KIND)];
}

function containerId({ kind, name }: ModelDocument): string {
  return `${kind}/${name}`;
}

const LINK_KINDS = new Set([
  "BondConfig",
  "BridgeConfig",
  "DummyLinkConfig",
  "LinkConfig",
  "VLANConfig",
  "VRFConfig",
  "VethConfig",
  "WireguardConfig",
]);

/** What only one document may configure: a network link, a shared address. */
function claimsOf({ kind, name, value }: ModelDocument): string[] {
  if (kind === "Layer2VIPConfig" || kind === "HCloudVIPConfig") return [`vip ${name}`];
  if (!LINK_KINDS.has(kind)) return [];
  const peer = kind === "VethConfig" ? (value.peer as Fields | undefined)?.name : undefined;
  return [`link ${name}`, ...(typeof peer === "string" ? [`link ${peer}`] : [])];
}

/** Options of {@linkcode loadRoots}. */
export interface LoadOptions {
  /** Patches may name one document several times. */
  readonly allowDuplicates?: boolean;
}

/** Loads the documents of a text, in their order; empty ones are skipped. */
export function loadRoots(
  text: YamlText,
  roots: readonly YamlNode[],
  { allowDuplicates = false }: LoadOptions = {},
): ModelDocument[] {
  const seen = new Set<string>();
  const budget = new StepBudget();
  const documents: ModelDocument[] = [];
  for (const node of roots) {
    if (isNullNode(node)) continue;
    documents.push(loadRoot(text, node, budget, allowDuplicates ? undefined : seen));
  }
  return documents;
}

function loadRoot(
  text: YamlText,
  node: YamlNode,
  budget: StepBudget,
  seen: Set<string> | undefined,
): ModelDocument {
  const { line } = text.position(node.offset);
  if (node.kind !== "map") {
    throw new CodedError("invalidArgument", `expected a YAML document at line ${line}`);
  }
  const header = readHeader(node);
  const id = `${header.apiVersion}/${header.kind || MAIN_KIND}/${header.name}`;
  if (seen?.has(id) === true) {
    throw new CodedError(
      "invalidArgument",
      `duplicate document ${id} is not allowed (line ${line})`,
    );
  }
  seen?.add(id);
  const prefix = `error decoding document ${id} (line ${line})`;
  const found = findType(header);
  if (typeof found === "string") throw new CodedError("invalidArgument", `${prefix}: ${found}`);
  const { value, problems, unknown } = decodeStruct(found.type, node, budget);
  const problem = problems.find(({ kind }) => kind !== "unknownKey");
  if (problem !== undefined) {
    const at = text.position(problem.offset);
    throw new CodedError(
      "invalidArgument",
      `${prefix}: line ${at.line}, column ${at.column}: ${problem.path}: ${problem.message}`,
      { details: { ...at, source: sourceLine(text.source, at.line) } },
    );
  }
  if (unknown !== undefined) {
    throw new CodedError(
      "invalidArgument",
      `${prefix}: unknown keys found during decoding:\n${writeYaml(unknown)}`,
    );
  }
  const name = found.type.fields.has("name") && found.kind !== MAIN_KIND ? value.name : undefined;
  return { ...found, name: typeof name === "string" ? name : "", value };
}

/** What names a document, as written. */
export interface DocumentHeader {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Whether a key is there that only the main document has. */
  readonly isMain: boolean;
}

const MAIN_KEYS = new Set(["machine", "cluster", "debug", "persist"]);

/** Reads the header of a document. */
export function readHeader(node: MapNode): DocumentHeader {
  const text = (wanted: string) => {
    const value = node.entries.find(({ key }) => key === wanted)?.value;
    return value?.kind === "scalar" ? value.text : "";
  };
  return {
    apiVersion: text("apiVersion"),
    kind: text("kind"),
    name: text("name"),
    isMain: node.entries.some(({ key }) => MAIN_KEYS.has(key)),
  };
}

/** The type that a header asks for, or why there is none. */
export function findType(
  { apiVersion, kind, isMain }: DocumentHeader,
): { readonly kind: string; readonly type: StructType } | string {
  const version = isMain ? MAIN_KIND : apiVersion;
  if (kind === "" && version !== MAIN_KIND) return "missing kind";
  if (version === "") return "missing apiVersion";
  const wanted = kind === "" ? MAIN_KIND : kind;
  const type = version === MAIN_KIND ? documentType(wanted) : undefined;
  if (type === undefined) {
    return `${JSON.stringify(kind)} ${JSON.stringify(version)}: not registered`;
  }
  return { kind: wanted, type };
}
