// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Merges a decoded patch into a decoded document, by the rules of Talos:
 *
 * - scalars replace; the zero value does so only where absence differs from it;
 * - types with fields and mappings merge, lists are appended, unless the field table says that a
 *   value is replaced or that items with an equal key are merged;
 * - sizes and expressions follow the patch even when it leaves them out, as soon as it mentions the
 *   document (a quirk of Talos that results depend on).
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Fields } from "./decode.ts";
import { orderAny } from "./encode.ts";
import { isZeroScalar } from "./scalars.ts";
import type { ConfigType, ListMerge, ScalarName, StructField, StructType } from "./schema.ts";
import { mergeUrls } from "./url_merge.ts";

/** Merges two values of a type with fields; neither is changed. */
export function mergeStruct(type: StructType, left: Fields, right: Fields): Fields {
  const merged: Fields = { ...left };
  for (const field of type.fields.values()) {
    const value = mergeField(field, left[field.name], right[field.name]);
    if (value === undefined) delete merged[field.name];
    else merged[field.name] = value;
  }
  return merged;
}

function mergeField(field: StructField, left: unknown, right: unknown): unknown {
  const { type } = field;
  if (right === undefined) return followsAbsence(type) ? mergeAbsent(type, left) : left;
  return field.isReplaced || left === undefined ? right : mergeValue(type, left, right);
}

function mergeValue(type: ConfigType, left: unknown, right: unknown): unknown {
  switch (type.form) {
    case "struct":
      return mergeStruct(type.struct, left as Fields, right as Fields);
    case "list":
      return mergeLists(type, left as unknown[], right as unknown[]);
    case "map":
      return mergeMaps(type.value, toMap(left), toMap(right));
    case "enum":
      return right;
    case "scalar":
      return mergeScalars(type.scalar, left, right);
  }
}

function mergeScalars(scalar: ScalarName, left: unknown, right: unknown): unknown {
  if (scalar === "any") return mergeAny(left, right, "");
  if (scalar === "url") return mergeUrls(left as string, right as string);
  // A size in bytes is printed in preference to one in percent, whichever came later.
  const isKept = scalar === "size" && !String(left).includes("%") && String(right).includes("%");
  return isKept ? left : right;
}

function mergeLists(
  type: ConfigType & { readonly form: "list" },
  left: readonly unknown[],
  right: readonly unknown[],
): unknown[] {
  const { merge } = type;
  if (merge === undefined || type.item.form !== "struct") return [...left, ...right];
  const { struct } = type.item;
  const merged = [...left] as Fields[];
  for (const item of right as readonly Fields[]) {
    const at = findEqual(merged, item ?? {}, merge);
    const existing = merged[at];
    if (existing === undefined) merged.push(item);
    else merged[at] = merge.isReplacing ? item : mergeStruct(struct, existing, item);
  }
  return merged;
}

function findEqual(list: readonly Fields[], item: Fields, { keys, isReplacing }: ListMerge) {
  // One key always decides; of several, the first that the item has.
  const key = keys.length === 1 ? keys[0] : keys.find((name) => item[name] !== undefined);
  if (key === undefined) return -1;
  const wanted = canonical(item[key]);
  const isEqual = (other: Fields) => canonical(other?.[key]) === wanted;
  // Where an item is replaced, the last of equals is.
  return isReplacing ? list.findLastIndex(isEqual) : list.findIndex(isEqual);
}

/** Text that is equal for equal values, whatever the order of their fields. */
function canonical(value: unknown): string {
  return JSON.stringify(orderAny(value), (_, item) => item instanceof Map ? [...item] : item) ?? "";
}

function toMap(value: unknown): Map<string, unknown> {
  return value instanceof Map ? value : new Map(Object.entries(value as Fields));
}

function mergeMaps(
  type: ConfigType,
  left: ReadonlyMap<string, unknown>,
  right: ReadonlyMap<string, unknown>,
): Map<string, unknown> {
  const merged = new Map(left);
  for (const [key, value] of right) {
    const old = merged.get(key);
    if (old === undefined || old === null) merged.set(key, value);
    else if (type.form === "scalar" && type.scalar === "any") {
      merged.set(key, mergeAny(old, value, key));
    } else if (value !== null) {
      const isZero = type.form === "scalar" && type.scalar !== "arg" && type.scalar !== "bool" &&
        !type.isPointer &&
        isZeroScalar(type.scalar, value);
      if (!isZero) merged.set(key, mergeValue(type, old, value));
    }
  }
  return merged;
}

function mergeAny(left: unknown, right: unknown, key: string): unknown {
  if (right === null || right === undefined) return left;
  if (left === null || left === undefined) return right;
  const [old, young] = [formOf(left), formOf(right)];
  if (old !== young) {
    throw new CodedError(
      "invalidArgument",
      `merge type mismatch at key "${key}": left is ${old}, right is ${young}`,
    );
  }
  if (old === "list") return [...left as unknown[], ...right as unknown[]];
  if (old === "mapping") {
    const any: ConfigType = { form: "scalar", scalar: "any", isPointer: false };
    return mergeMaps(any, toMap(left), toMap(right));
  }
  return right === "" || right === 0 || right === 0n ? left : right;
}

function formOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  if (value instanceof Map) return "mapping";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value === "bigint") return "integer";
  return typeof value === "object" ? "mapping" : typeof value;
}

/** Whether absence in the patch may change the value: true for sizes and expressions within. */
function followsAbsence(type: ConfigType): boolean {
  if (type.form === "scalar") {
    return !type.isPointer && ["byteSize", "cel"].includes(type.scalar);
  }
  return type.form === "struct" && !type.isPointer && structFollowsAbsence(type.struct);
}

const following = new WeakMap<StructType, boolean>();

function structFollowsAbsence(type: StructType): boolean {
  let result = following.get(type);
  if (result === undefined) {
    following.set(type, false);
    result = [...type.fields.values()].some((field) => followsAbsence(field.type));
    following.set(type, result);
  }
  return result;
}

function mergeAbsent(type: ConfigType, left: unknown): unknown {
  if (type.form !== "struct" || left === undefined) return undefined;
  return mergeStruct(type.struct, left as Fields, {});
}
