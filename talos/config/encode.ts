// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Prints decoded values by the field tables: fields in the table's order, data keys sorted, empty
 * values left out where the table says so.
 *
 * @module
 */

import type { Fields } from "./decode.ts";
import { isZeroScalar, printScalar, type ScalarValue, zeroScalar } from "./scalars.ts";
import type { ConfigType, StructType } from "./schema.ts";
import { NodeText, sortedMap, writeYaml, type YamlValue } from "./yaml_write.ts";

/** Prints one document. */
export function encodeDocument(type: StructType, value: Fields): string {
  return writeYaml(orderStruct(type, value));
}

/** The value with everything in the order of printing. */
function orderStruct(type: StructType, value: Fields): YamlValue {
  const ordered: Record<string, YamlValue> = {};
  for (const field of type.fields.values()) {
    const item = value[field.name];
    if (field.isOmittedWhenEmpty && isEmpty(field.type, item)) continue;
    ordered[field.name] = orderValue(field.type, item);
  }
  return ordered;
}

/** Whether a value is left out where the table allows that. */
export function isEmpty(type: ConfigType, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  switch (type.form) {
    case "scalar":
      return !type.isPointer && isZeroScalar(type.scalar, value);
    case "enum":
      return !type.isPointer && value === type.names[0];
    case "list":
      return Array.isArray(value) && value.length === 0;
    case "map":
      return sizeOf(value) === 0;
    case "struct":
      return !type.isPointer && isEmptyStruct(type.struct, value as Fields);
  }
}

function isEmptyStruct(type: StructType, value: Fields): boolean {
  // Without a provider and keys the rest of an encryption means nothing.
  if (type.name === "EncryptionSpec") {
    const { provider = "none", keys } = value;
    return provider === "none" && (!Array.isArray(keys) || keys.length === 0);
  }
  for (const field of type.fields.values()) {
    if (!isEmpty(field.type, value[field.name])) return false;
  }
  return true;
}

function sizeOf(value: unknown): number {
  return value instanceof Map ? value.size : Object.keys(value as Fields).length;
}

function orderValue(type: ConfigType, value: unknown): YamlValue {
  switch (type.form) {
    case "scalar":
      return orderScalar(type, value);
    case "enum":
      return value === undefined ? type.isPointer ? null : type.names[0] ?? "" : value as string;
    case "list":
      return Array.isArray(value) ? value.map((item) => orderValue(type.item, item)) : [];
    case "map":
      return sortedMap(entriesOf(value).map(([key, item]) => [key, orderValue(type.value, item)]));
    case "struct":
      if (value === undefined || value === null) {
        return type.isPointer ? null : orderStruct(type.struct, {});
      }
      return orderStruct(type.struct, value as Fields);
  }
}

function orderScalar(type: ConfigType & { form: "scalar" }, value: unknown): YamlValue {
  if (type.scalar === "any") return orderAny(value);
  if (Array.isArray(value)) return value.map((item) => new NodeText(String(item)));
  if (value === undefined || value === null) {
    return type.isPointer ? null : printScalar(type.scalar, zeroScalar(type.scalar));
  }
  return printScalar(type.scalar, value as ScalarValue);
}

/** A value without a type: only its data keys are sorted. */
export function orderAny(value: unknown): YamlValue {
  if (Array.isArray(value)) return value.map(orderAny);
  if (value instanceof Map || isPlainObject(value)) {
    return sortedMap(entriesOf(value).map(([key, item]) => [key, orderAny(item)]));
  }
  return (value ?? null) as YamlValue;
}

function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function entriesOf(value: unknown): [string, unknown][] {
  if (value instanceof Map) return [...value as Map<string, unknown>];
  return value === undefined || value === null ? [] : Object.entries(value);
}
