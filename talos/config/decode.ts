// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reads a node by the field tables.
 *
 * Decoded values are plain: a type with fields is an object that holds only what differs from zero,
 * a mapping with data keys is a `Map`, a list an array. All problems are gathered, none is thrown.
 *
 * @module
 */

import { isZeroScalar, readScalar, zeroScalar } from "./scalars.ts";
import type { ConfigType, StructField, StructType } from "./schema.ts";
import type { MapNode, ScalarNode, SeqNode, StepBudget, YamlNode } from "./yaml_node.ts";
import { resolveScalar } from "./yaml_resolve.ts";
import { RawScalar, sortedMap, writeString, type YamlValue } from "./yaml_write.ts";

/** A decoded value of a type with fields. */
export type Fields = { [name: string]: unknown };

/** Something that the reader refuses. */
export interface DecodeProblem {
  readonly kind: "unknownKey" | "wrongType" | "tooNew" | "duplicateKey";
  /** Path of the field, such as `machine.network.interfaces[0].mtu`. */
  readonly path: string;
  readonly offset: number;
  readonly message: string;
}

/** What {@linkcode decodeStruct} found. */
export interface Decoded {
  readonly value: Fields;
  readonly problems: readonly DecodeProblem[];
  /** The unknown keys with their values, in the shape of the text, or `undefined`. */
  readonly unknown: YamlValue | undefined;
}

interface Context {
  readonly problems: DecodeProblem[];
  readonly budget: StepBudget;
  /** Fields of later minor versions are reported. */
  readonly minor: number;
}

/** The unknown keys below a value, in its shape; `undefined` when there are none. */
type UnknownTree = YamlValue | undefined;

/** Reads a node as a type with fields; `minor` is the version of Talos that is to accept it. */
export function decodeStruct(
  type: StructType,
  node: YamlNode,
  budget: StepBudget,
  minor = Infinity,
): Decoded {
  const context: Context = { problems: [], budget, minor };
  const [value, unknown] = readStruct(type, node, "", context);
  return { value: (value ?? {}) as Fields, problems: context.problems, unknown };
}

/** Reads a node without a type: mappings become `Map`s. */
export function decodeAny(node: YamlNode, budget: StepBudget): unknown {
  budget.step();
  switch (node.kind) {
    case "map":
      return new Map(node.entries.map(({ key, value }) => [key, decodeAny(value, budget)]));
    case "seq":
      return node.items.map((item) => decodeAny(item, budget));
    case "scalar":
      return readScalar("any", node);
  }
}

/** Whether a node is null. */
export function isNullNode(node: YamlNode): boolean {
  return node.kind === "scalar" && resolveScalar(node).type === "null";
}

function readValue(
  type: ConfigType,
  node: YamlNode,
  path: string,
  context: Context,
): [unknown, UnknownTree] {
  context.budget.step();
  switch (type.form) {
    case "struct":
      return readStruct(type.struct, node, path, context);
    case "list":
      return readList(type.item, node, path, context);
    case "map":
      return readMap(type.value, node, path, context);
    case "enum":
      return [readEnum(type.names, node, path, context), undefined];
    case "scalar":
      if (type.scalar === "any") return [decodeAny(node, context.budget), undefined];
      if (type.scalar === "arg" && node.kind === "seq") {
        return readList(TEXT, node, path, context);
      }
      return [readTypedScalar(type.scalar, node, path, context), undefined];
  }
}

const TEXT = { form: "scalar", scalar: "str", isPointer: false } as const;

function readStruct(
  type: StructType,
  node: YamlNode,
  path: string,
  context: Context,
): [Fields | undefined, UnknownTree] {
  if (isNullNode(node)) return [undefined, undefined];
  if (node.kind !== "map") {
    report(context, "wrongType", path, node, "want a mapping");
    return [{}, undefined];
  }
  const value: Fields = {};
  const unknown: [string, YamlValue][] = [];
  checkDuplicates(node, path, context);
  for (const { key, keyOffset, value: child } of node.entries) {
    const field = type.fields.get(key);
    const childPath = path === "" ? key : `${path}.${key}`;
    if (field === undefined) {
      unknown.push([key, nodeToYaml(child, context.budget)]);
      reportAt(context, "unknownKey", childPath, keyOffset, `unknown key "${key}"`);
      continue;
    }
    if (field.since > context.minor) {
      const message = `field is known from Talos 1.${field.since} on`;
      reportAt(context, "tooNew", childPath, keyOffset, message);
    }
    const [decoded, below] = readValue(field.type, child, childPath, context);
    if (below !== undefined) unknown.push([key, below]);
    if (decoded !== undefined && isSet(field, child, decoded)) value[key] = decoded;
  }
  // Certificates are read as a whole: what is not given is empty, and empty replaces.
  if (type.name === "CertificateAndKey" || type.name === "Certificate" || type.name === "Key") {
    for (const name of type.fields.keys()) value[name] ??= "";
  }
  return [value, unknown.length === 0 ? undefined : sortedMap(unknown)];
}

/** Whether a field counts as given: null never does, zero only where absence differs from it. */
function isSet(field: StructField, node: YamlNode, value: unknown): boolean {
  const { type } = field;
  if (isNullNode(node)) return false;
  if (type.form === "scalar") {
    return type.isPointer || type.scalar === "base64" || !isZeroScalar(type.scalar, value);
  }
  // A free-form value that is empty is as good as none.
  if (type.form === "map" && type.value.form === "scalar" && type.value.scalar === "any") {
    return !(value instanceof Map) || value.size > 0;
  }
  return type.form !== "enum" || type.isPointer || value !== type.names[0];
}

function readList(
  item: ConfigType,
  node: YamlNode,
  path: string,
  context: Context,
): [unknown, UnknownTree] {
  if (isNullNode(node)) return [undefined, undefined];
  if (node.kind !== "seq") {
    report(context, "wrongType", path, node, "want a list");
    return [undefined, undefined];
  }
  const unknown: YamlValue[] = [];
  const values = node.items.map((child, i) => {
    const [value, below] = readValue(item, child, `${path}[${i}]`, context);
    if (below !== undefined) unknown.push(below);
    return value ?? zeroValue(item);
  });
  return [values, unknown.length === 0 ? undefined : unknown];
}

function readMap(
  item: ConfigType,
  node: YamlNode,
  path: string,
  context: Context,
): [unknown, UnknownTree] {
  if (isNullNode(node)) return [undefined, undefined];
  if (node.kind !== "map") {
    report(context, "wrongType", path, node, "want a mapping");
    return [undefined, undefined];
  }
  checkDuplicates(node, path, context);
  const values = new Map<string, unknown>();
  const unknown: [string, YamlValue][] = [];
  for (const { key, value: child } of node.entries) {
    const [value, below] = readValue(item, child, `${path}.${key}`, context);
    if (below !== undefined) unknown.push([key, below]);
    values.set(key, value ?? zeroValue(item));
  }
  return [values, unknown.length === 0 ? undefined : sortedMap(unknown)];
}

function zeroValue(type: ConfigType): unknown {
  if (type.form === "scalar") return type.isPointer ? null : zeroScalar(type.scalar);
  if (type.form === "enum") return type.isPointer ? null : type.names[0];
  if (type.form === "struct") return type.isPointer ? null : {};
  return type.form === "list" ? [] : new Map();
}

function readEnum(
  names: readonly string[],
  node: YamlNode,
  path: string,
  context: Context,
): string | undefined {
  if (isNullNode(node)) return undefined;
  const text = node.kind === "scalar" ? node.text : "";
  const name = names.find((known) => known.toLowerCase() === text.toLowerCase() && known !== "");
  if (name === undefined) {
    const choice = names.filter((known) => known !== "").join(", ");
    report(context, "wrongType", path, node, `want one of ${choice}`);
  }
  return name;
}

function readTypedScalar(
  scalar: Parameters<typeof readScalar>[0],
  node: YamlNode,
  path: string,
  context: Context,
): unknown {
  if (node.kind !== "scalar") {
    report(context, "wrongType", path, node, "want a single value");
    return undefined;
  }
  try {
    return readScalar(scalar, node);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    report(context, "wrongType", path, node, error.message);
    return undefined;
  }
}

function checkDuplicates(node: MapNode, path: string, context: Context): void {
  const seen = new Set<string>();
  for (const { key, keyOffset } of node.entries) {
    if (seen.has(key)) {
      const childPath = path === "" ? key : `${path}.${key}`;
      const message = `mapping key "${key}" already defined`;
      reportAt(context, "duplicateKey", childPath, keyOffset, message);
    }
    seen.add(key);
  }
}

// Fields that hold secrets must not be quoted in messages.
const SECRET_PATH = /(?:token|secret|key|password|passphrase|auth)$/i;

function report(
  context: Context,
  kind: DecodeProblem["kind"],
  path: string,
  node: YamlNode,
  wanted: string,
): void {
  const found = describe(node, path);
  reportAt(context, kind, path, node.offset, `${wanted}: current value is ${found}`);
}

function reportAt(
  context: Context,
  kind: DecodeProblem["kind"],
  path: string,
  offset: number,
  message: string,
): void {
  context.problems.push({ kind, path, offset, message });
}

function describe(node: YamlNode, path: string): string {
  if (node.kind === "map") return "a mapping";
  if (node.kind === "seq") return "a list";
  if (SECRET_PATH.test(path)) return "hidden";
  return JSON.stringify(node.text.length > 60 ? `${node.text.slice(0, 60)}…` : node.text);
}

/** A node as a value that prints like the text it came from. */
function nodeToYaml(node: YamlNode, budget: StepBudget): YamlValue {
  budget.step();
  if (node.kind === "map") return mapToYaml(node, budget);
  return node.kind === "seq" ? seqToYaml(node, budget) : scalarToYaml(node);
}

function mapToYaml(node: MapNode, budget: StepBudget): YamlValue {
  return new Map(node.entries.map(({ key, value }) => [key, nodeToYaml(value, budget)]));
}

function seqToYaml(node: SeqNode, budget: StepBudget): YamlValue {
  return node.items.map((item) => nodeToYaml(item, budget));
}

function scalarToYaml(node: ScalarNode): YamlValue {
  if (node.isPlain && !node.text.includes("\n")) return new RawScalar(node.text);
  return new RawScalar(writeString(node.text, 4));
}
