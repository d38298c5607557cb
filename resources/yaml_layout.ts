// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Trees of YAML and their layout: block style, indent 4, sequences inside mappings indented.
 *
 * @module
 */

import {
  isSurelyPlain,
  needsExplicitKey,
  type ScalarStyle,
  valueStyle,
  writeScalar,
  type WrittenScalar,
} from "../base/yaml_scalar.ts";

/** A value of a YAML document. */
export type YamlNode =
  /** A number, boolean, null or empty collection, written as it stands. */
  | { readonly raw: string }
  /** A string; without a style it is written as one of a program. */
  | { readonly string: string; readonly style?: ScalarStyle }
  | {
    readonly entries: readonly (readonly [string, YamlNode])[];
    /** The keys are numbers or booleans, written as they stand. */
    readonly hasRawKeys?: boolean;
  }
  | { readonly items: readonly YamlNode[] };

/** The indent of what stands under a mapping entry that is itself indented by `indent`. */
function under(indent: number): number {
  return 4 * Math.floor((indent + 4) / 4);
}

function pad(width: number): string {
  return " ".repeat(width);
}

/** Text of a node that fits behind a key or a dash, or `undefined` for a non-empty collection. */
function writeInline(node: YamlNode, bodyIndent: number): WrittenScalar | undefined {
  if ("raw" in node) return { text: node.raw, endsLine: false };
  if ("string" in node) return writeString(node.string, bodyIndent, node.style);
  if ("items" in node) return node.items.length > 0 ? undefined : { text: "[]", endsLine: false };
  return node.entries.length > 0 ? undefined : { text: "{}", endsLine: false };
}

function writeString(text: string, bodyIndent: number, style?: ScalarStyle): WrittenScalar {
  if (style === undefined && isSurelyPlain(text)) return { text, endsLine: false };
  return writeScalar(text, style ?? valueStyle(text, "double"), bodyIndent);
}

function writeAfter(prefix: string, { text, endsLine }: WrittenScalar): string {
  return `${prefix} ${text}${endsLine ? "" : "\n"}`;
}

function writeEntry(key: string, value: YamlNode, indent: number, isRaw: boolean): string {
  const body = under(indent);
  const inline = writeInline(value, body);
  if (!isRaw && needsExplicitKey(key)) {
    const head = writeAfter(`${pad(indent)}?`, writeString(key, body));
    const colon = `${pad(indent)}:`;
    if (inline !== undefined) return head + writeAfter(colon, inline);
    // The first entry stands on the line of the colon, in the column of the others.
    return head + colon.padEnd(body) + writeBlock(value, body).slice(body);
  }
  const head = `${pad(indent)}${isRaw ? key : writeString(key, body).text}:`;
  return inline === undefined ? `${head}\n${writeBlock(value, body)}` : writeAfter(head, inline);
}

function writeItem(value: YamlNode, indent: number): string {
  const inline = writeInline(value, indent + 2);
  if (inline !== undefined) return writeAfter(`${pad(indent)}-`, inline);
  return `${pad(indent)}- ${writeBlock(value, indent + 2).slice(indent + 2)}`;
}

function writeBlock(node: YamlNode, indent: number): string {
  if ("entries" in node) {
    const { entries, hasRawKeys = false } = node;
    return entries.map(([key, value]) => writeEntry(key, value, indent, hasRawKeys)).join("");
  }
  if ("items" in node) return node.items.map((item) => writeItem(item, indent)).join("");
  return "";
}

/** Renders a document; the text ends with a line feed. */
export function renderYaml(root: YamlNode): string {
  const inline = writeInline(root, 4);
  if (inline === undefined) return writeBlock(root, 0);
  return inline.endsLine ? inline.text : `${inline.text}\n`;
}
