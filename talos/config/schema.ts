// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The types of Talos's configuration: which fields exist, of which type, since which release.
 *
 * The tables in `fields_*.ts` hold one type a paragraph:
 *
 * ```text
 * TypeName[@minor] field[?]:type[@minor] …
 * ```
 *
 * - `@9` after a field or a document: known since Talos 1.9.
 * - `?`: left out of the printed text when empty; other fields are printed with their zero value.
 * - `*T`: absence differs from the zero value. `[T]`: list. `{T}`: mapping with data keys.
 * - `=` before the type: a patch replaces the value instead of appending to it or merging it.
 * - `#a,b` after a list: a patch merges items with an equal field `a`, or else `b`;
 *   `#!a` replaces such an item.
 * - Lower-case types are scalars, `%Name` is an enumeration, other names refer to types.
 *
 * @module
 */

import { ENUMERATIONS } from "./fields_enumerations.ts";
import { KUBERNETES_FIELDS } from "./fields_kubernetes.ts";
import { NETWORK_FIELDS } from "./fields_network.ts";
import { STORAGE_FIELDS } from "./fields_storage.ts";
import { SYSTEM_FIELDS } from "./fields_system.ts";
import { V1ALPHA1_CLUSTER_FIELDS } from "./fields_v1alpha1_cluster.ts";
import { V1ALPHA1_MACHINE_FIELDS } from "./fields_v1alpha1_machine.ts";

/** The kind of the document that has no `kind`. */
export const MAIN_KIND = "v1alpha1";

/** Scalars that are told apart because their text has rules. */
export type ScalarName =
  | "addr"
  | "addrPort"
  | "any"
  | "arg"
  | "base64"
  | "bool"
  | "byteSize"
  | "cel"
  | "diskMatcher"
  | "diskSize"
  | "duration"
  | "float"
  | "int"
  | "int32"
  | "mac"
  | "octal"
  | "percentage"
  | "portRange"
  | "prefix"
  | "routingTable"
  | "size"
  | "str"
  | "trimmed"
  | "uint"
  | "uint16"
  | "uint32"
  | "uint8"
  | "url";

/** A type of the configuration. */
export type ConfigType =
  | { readonly form: "scalar"; readonly scalar: ScalarName; readonly isPointer: boolean }
  | { readonly form: "enum"; readonly names: readonly string[]; readonly isPointer: boolean }
  | { readonly form: "list"; readonly item: ConfigType; readonly merge: ListMerge | undefined }
  | { readonly form: "map"; readonly value: ConfigType }
  | { readonly form: "struct"; readonly struct: StructType; readonly isPointer: boolean };

/** How a patch treats items of a list that are equal in a field. */
export interface ListMerge {
  readonly keys: readonly string[];
  readonly isReplacing: boolean;
}

/** A type with named fields. */
export interface StructType {
  readonly name: string;
  /** First minor version of Talos 1 that knows a document of this type. */
  readonly since: number;
  readonly fields: ReadonlyMap<string, StructField>;
}

/** A field of a {@linkcode StructType}. */
export interface StructField {
  readonly name: string;
  readonly type: ConfigType;
  /** Whether an empty value is left out of the printed text. */
  readonly isOmittedWhenEmpty: boolean;
  /** Whether a patch replaces the value as a whole. */
  readonly isReplaced: boolean;
  /** First minor version of Talos 1 that knows the field. */
  readonly since: number;
}

interface Table {
  readonly structs: ReadonlyMap<string, StructType>;
  readonly documents: ReadonlyMap<string, StructType>;
}

let table: Table | undefined;

/** The type of a document, by kind; `v1alpha1` is the main one. */
export function documentType(kind: string): StructType | undefined {
  return loadTable().documents.get(kind);
}

function loadTable(): Table {
  table ??= parseTable([
    V1ALPHA1_MACHINE_FIELDS,
    V1ALPHA1_CLUSTER_FIELDS,
    NETWORK_FIELDS,
    KUBERNETES_FIELDS,
    STORAGE_FIELDS,
    SYSTEM_FIELDS,
  ]);
  return table;
}

interface MutableStruct extends StructType {
  readonly fields: Map<string, StructField>;
}

function parseTable(texts: readonly string[]): Table {
  const paragraphs = texts.flatMap((text) => text.replaceAll("\n  ", " ").trim().split("\n"));
  const structs = new Map<string, MutableStruct>();
  const documents = new Map<string, StructType>();
  const fieldsOf: [MutableStruct, string[]][] = [];
  for (const paragraph of paragraphs) {
    const [head = "", ...fields] = paragraph.split(" ");
    const [name = "", since] = head.split("@");
    const struct = { name, since: Number(since ?? 0), fields: new Map<string, StructField>() };
    structs.set(name, struct);
    if (since !== undefined) documents.set(name, struct);
    if (name === "V1alpha1") documents.set("v1alpha1", struct);
    fieldsOf.push([struct, fields]);
  }
  for (const [struct, fields] of fieldsOf) {
    for (const text of fields) {
      const field = parseField(text, structs);
      struct.fields.set(field.name, field);
    }
  }
  return { structs, documents };
}

const FIELD = /^([^?:]+)(\??):(=?)([^@]+)(?:@(\d+))?$/;

function parseField(text: string, structs: ReadonlyMap<string, StructType>): StructField {
  const match = FIELD.exec(text);
  if (match === null) throw new Error(`Cannot read field table at "${text}"`);
  const [, name = "", optional, replaced, type = "", since] = match;
  return {
    name,
    type: parseType(type, structs),
    isOmittedWhenEmpty: optional === "?",
    isReplaced: replaced === "=",
    since: Number(since ?? 0),
  };
}

function parseType(text: string, structs: ReadonlyMap<string, StructType>): ConfigType {
  const [body = "", keys] = text.split("#");
  if (body.startsWith("[")) {
    return {
      form: "list",
      item: parseType(body.slice(1, -1), structs),
      merge: keys === undefined
        ? undefined
        : { keys: keys.replace("!", "").split(","), isReplacing: keys.startsWith("!") },
    };
  }
  if (body.startsWith("{")) return { form: "map", value: parseType(body.slice(1, -1), structs) };
  const isPointer = body.startsWith("*");
  const name = isPointer ? body.slice(1) : body;
  if (name.startsWith("%")) {
    return { form: "enum", names: ENUMERATIONS[name.slice(1)] ?? [], isPointer };
  }
  if (/^[a-z]/.test(name)) return { form: "scalar", scalar: name as ScalarName, isPointer };
  const struct = structs.get(name);
  if (struct === undefined) throw new Error(`Cannot find type "${name}" in the field tables`);
  return { form: "struct", struct, isPointer };
}
