// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Prints values as YAML in the layout of Talos: a block inside a list item is indented by two, any
 * other block goes to the next multiple of four.
 *
 * @module
 */

import { compareKeys } from "../../base/yaml_keys.ts";
import {
  isSurelyPlain,
  needsExplicitKey,
  nodeStyle,
  type ScalarStyle,
  valueStyle,
  writeFloat,
  writeScalar,
} from "../../base/yaml_scalar.ts";

/** A value that can be printed. Objects keep their order; `Map` is for keys that are data. */
export type YamlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | RawScalar
  | NodeText
  | readonly YamlValue[]
  | ReadonlyMap<string, YamlValue>
  | { readonly [key: string]: YamlValue | undefined };

/** A scalar whose text is already YAML, such as an octal number. */
export class RawScalar {
  constructor(readonly text: string) {}
}

/** A text that is printed as a node: words of YAML 1.1 such as `yes` stay without quotes. */
export class NodeText {
  constructor(readonly text: string) {}
}

/** How a document is laid out. */
export interface YamlLayout {
  /** How deep one level is. */
  readonly width: 2 | 4;
  /** Whether the dashes of a list stand right below the key that holds it. */
  readonly hasFlushLists: boolean;
}

/** The layout of configurations. */
const CONFIG_LAYOUT: YamlLayout = { width: 4, hasFlushLists: false };

/** The layout of cleaned patches. */
export const PATCH_LAYOUT: YamlLayout = { width: 2, hasFlushLists: false };

/** The layout of what a JSON patch made. */
export const JSON_PATCH_LAYOUT: YamlLayout = { width: 2, hasFlushLists: true };

/** Prints one document, with a newline at its end. */
export function writeYaml(value: YamlValue, layout: YamlLayout = CONFIG_LAYOUT): string {
  if (isCollection(value) && sizeOf(value) > 0) {
    return writeBlock(value, 0, layout, true).slice(1) + "\n";
  }
  return writeInline(value, layout.width) + "\n";
}

/** Joins documents in the way of Talos: a separator between them, none around them. */
export function joinDocuments(documents: readonly string[]): string {
  return documents.join("---\n");
}

/** The same mapping with its keys in the order in which Talos prints data keys. */
export function sortedMap<T>(entries: Iterable<readonly [string, T]>): Map<string, T> {
  return new Map([...entries].sort(([a], [b]) => compareKeys(a, b)));
}

type Collection = readonly YamlValue[] | ReadonlyMap<string, YamlValue> | {
  readonly [key: string]: YamlValue | undefined;
};

function isCollection(value: YamlValue): value is Collection {
  return typeof value === "object" && value !== null && !(value instanceof RawScalar) &&
    !(value instanceof NodeText);
}

function sizeOf(value: Collection): number {
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map) return value.size;
  let size = 0;
  for (const item of Object.values(value)) if (item !== undefined) size++;
  return size;
}

function entriesOf(value: Collection): Iterable<readonly [string, YamlValue | undefined]> {
  return value instanceof Map ? value : Object.entries(value);
}

function next(indent: number, width: number): number {
  return width * Math.floor((indent + width) / width);
}

/** Prints a collection that is not empty; every entry begins with a newline. */
function writeBlock(value: Collection, indent: number, layout: YamlLayout, root = false): string {
  const pad = "\n" + " ".repeat(indent);
  let out = "";
  if (Array.isArray(value)) {
    for (const item of value as readonly YamlValue[]) {
      if (isCollection(item) && sizeOf(item) > 0) {
        // The first entry shares the line of the dash.
        out += pad + "- " + writeBlock(item, indent + 2, layout).slice(indent + 3);
      } else out += pad + "- " + writeInline(item, indent + 2);
    }
    return out;
  }
  const bodyIndent = root ? layout.width : next(indent, layout.width);
  for (const [key, item] of entriesOf(value)) {
    if (item === undefined) continue;
    const name = writeString(key, bodyIndent);
    const explicit = needsExplicitKey(key);
    out += explicit ? `${pad}? ${name}${pad}:` : `${pad}${name}:`;
    if (!isCollection(item) || sizeOf(item) === 0) out += " " + writeInline(item, bodyIndent);
    else if (explicit) out += writeBlock(item, bodyIndent, layout).slice(indent + 2);
    else out += writeBlock(item, isFlush(item, layout) ? indent : bodyIndent, layout);
  }
  return out;
}

function isFlush(value: Collection, layout: YamlLayout): boolean {
  return layout.hasFlushLists && Array.isArray(value);
}

function writeInline(value: YamlValue, bodyIndent: number): string {
  switch (typeof value) {
    case "string":
      return writeString(value, bodyIndent);
    case "number":
      return writeNumber(value);
    case "bigint":
      return value.toString();
    case "boolean":
      return value ? "true" : "false";
    default:
      if (value === null) return "null";
      if (value instanceof RawScalar) return value.text;
      if (value instanceof NodeText) return writeNode(value.text, bodyIndent);
      return Array.isArray(value) ? "[]" : "{}";
  }
}

/**
 * Prints a string.
 *
 * @param bodyIndent Spaces in front of the lines of a block scalar.
 */
export function writeString(text: string, bodyIndent: number): string {
  return isSurelyPlain(text) ? text : writeInStyle(text, valueStyle(text, "single"), bodyIndent);
}

function writeNode(text: string, bodyIndent: number): string {
  if (text.includes("\n")) return writeString(text, bodyIndent);
  return writeInStyle(text, nodeStyle(text), bodyIndent);
}

function writeInStyle(text: string, style: ScalarStyle, bodyIndent: number): string {
  const written = writeScalar(text, style, bodyIndent);
  // The line feed after the last line belongs to whoever writes the next line.
  return written.endsLine ? written.text.replace(/\n$/, "") : written.text;
}

/** Prints a number in the form of Go's encoder. */
function writeNumber(value: number): string {
  const isInteger = Number.isInteger(value);
  if (isInteger && Math.abs(value) < 2 ** 63) return BigInt(value).toString();
  // Go prints the shortest form, for which the exponent begins at a million, whatever the digits.
  return writeFloat(value, isInteger ? 21 : 6);
}
