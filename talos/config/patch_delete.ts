// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `$patch: delete` in strategic patches: finding the marks, and deleting what they mark.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { type ModelDocument, readHeader } from "./config_load.ts";
import type { Fields } from "./decode.ts";
import { type ConfigType, MAIN_KIND, type StructType } from "./schema.ts";
import { type MapNode, StepBudget, type YamlNode } from "./yaml_node.ts";

/** One mark: what to delete in which document. */
export interface DeleteSelector {
  readonly kind: string;
  readonly apiVersion: string;
  /** Name in the patch, empty where it names none. */
  readonly name: string;
  /** Steps from the root; items of lists are written `[0]`. Empty means the whole document. */
  readonly path: readonly string[];
  /** For an item of a list: the field and value that select it. */
  readonly key: string;
  readonly value: string;
}

/** What remains of a document without its marks; `undefined` when nothing does. */
export interface Extraction {
  readonly selectors: readonly DeleteSelector[];
  readonly remaining: YamlNode | undefined;
}

/**
 * Takes the marks out of a document.
 *
 * @throws CodedError `invalidArgument` for a mark at a place where nothing can be deleted.
 */
export function extractDeletes(root: YamlNode): Extraction {
  const selectors: DeleteSelector[] = [];
  const context = { root, selectors, budget: new StepBudget() };
  const remaining = strip(context, root, [], "document");
  return {
    selectors,
    remaining: remaining !== undefined && isEmpty(remaining) ? undefined : remaining,
  };
}

type Parent = "document" | "map" | "seq";

interface Context {
  readonly root: YamlNode;
  readonly selectors: DeleteSelector[];
  readonly budget: StepBudget;
}

function strip(
  context: Context,
  node: YamlNode,
  path: readonly string[],
  parent: Parent,
): YamlNode | undefined {
  // A node that several aliases refer to is walked each time.
  context.budget.step();
  if (node.kind === "scalar") return node;
  if (node.kind === "seq") {
    const items = node.items.map((item, i) => strip(context, item, [...path, `[${i}]`], "seq"));
    const kept = items.filter((item) => item !== undefined);
    if (kept.length === node.items.length && kept.every((item, i) => item === node.items[i])) {
      return node;
    }
    return kept.length === 0 ? undefined : { ...node, items: kept };
  }
  const entries = [];
  let isChanged = false;
  for (const entry of node.entries) {
    if (isMark(entry)) {
      context.selectors.push(makeSelector(context.root, node, path, parent));
      return undefined;
    }
    const value = strip(context, entry.value, [...path, entry.key], "map");
    isChanged ||= value !== entry.value;
    if (value !== undefined) entries.push(value === entry.value ? entry : { ...entry, value });
  }
  if (!isChanged) return node;
  return entries.length === 0 ? undefined : { ...node, entries };
}

function isMark({ key, value }: MapNode["entries"][number]): boolean {
  return key === "$patch" && value.kind === "scalar" && value.text === "delete";
}

/** A document that names itself and says nothing is as good as none. */
function isEmpty(root: YamlNode): boolean {
  return root.kind === "map" &&
    root.entries.every(({ key, value }) =>
      value.kind === "scalar" && (key === "version" || key === "kind" || key === "name")
    );
}

function makeSelector(
  root: YamlNode,
  node: MapNode,
  path: readonly string[],
  parent: Parent,
): DeleteSelector {
  if (root.kind !== "map") throw refuse("expected a mapping node");
  if (parent !== "seq" && path.some((step) => step.startsWith("["))) {
    throw refuse(`cannot delete an inner key in '${path.join(".")}'`);
  }
  const { apiVersion, kind, name } = readHeader(root);
  if (path.length === 0) {
    for (const [key, value] of [["apiVersion", apiVersion], ["kind", kind]]) {
      if (value === "") throw refuse(`missing ${key} in document for which $patch: delete is used`);
    }
  }
  if ((kind === "") !== (apiVersion === "")) {
    throw refuse(`kind and apiVersion must be both set for path ${path.join(".")}`);
  }
  const chosen = parent === "seq" ? node.entries.find((entry) => !isMark(entry)) : undefined;
  if (parent === "seq" && chosen === undefined) {
    throw refuse(`no key:val found in sequence node for path ${path.join(".")}`);
  }
  return {
    kind: kind === "" ? MAIN_KIND : kind,
    apiVersion,
    name,
    path,
    key: chosen?.key ?? "",
    value: chosen?.value.kind === "scalar" ? chosen.value.text : "",
  };
}

function refuse(message: string): CodedError {
  return new CodedError("invalidArgument", message);
}

/**
 * Deletes what a selector marks. The document itself is marked by an empty path; `undefined` is
 * returned then.
 *
 * @throws CodedError `invalidArgument` when there is nothing at the path.
 */
export function applyDelete(document: ModelDocument, selector: DeleteSelector): Fields | undefined {
  if (selector.path.length === 0) return undefined;
  const path = selector.path.join(".");
  const result = deleteInStruct(document.type, document.value, selector.path, selector);
  if (typeof result !== "string") return result;
  const version = document.kind === MAIN_KIND ? "" : MAIN_KIND;
  const place = `document '${version}/${document.kind}'`;
  const reason = `failed to delete path '${path}': ${result}`;
  const isNamed = selector.name !== "";
  throw refuse(
    isNamed
      ? `named patch delete: ${place.replaceAll("'", "")}: ${reason}`
      : `patch delete: path '${path}' in ${place}: ${reason}`,
  );
}

const NOT_FOUND = "lookup failed";

/** The new value, or why nothing was deleted. */
type Outcome<T> = T | string;

function deleteInStruct(
  type: StructType,
  value: Fields,
  [step = "", ...rest]: readonly string[],
  selector: DeleteSelector,
): Outcome<Fields> {
  const field = type.fields.get(step);
  if (field === undefined) return NOT_FOUND;
  const copy = { ...value };
  if (rest.length === 0) {
    delete copy[step];
    return copy;
  }
  const below = deleteBelow(field.type, value[step], rest, selector);
  if (typeof below === "string") return below;
  copy[step] = below;
  return copy;
}

type Container = Fields | Map<string, unknown> | unknown[];

function deleteBelow(
  type: ConfigType,
  value: unknown,
  path: readonly string[],
  selector: DeleteSelector,
): Outcome<Container> {
  switch (type.form) {
    case "struct":
      if (value === undefined || value === null) {
        // A part that is always there counts as empty, one that may be absent as missing.
        return type.isPointer ? NOT_FOUND : deleteInStruct(type.struct, {}, path, selector);
      }
      return deleteInStruct(type.struct, value as Fields, path, selector);
    case "map":
      return deleteInMap(type.value, value, path, selector);
    case "list":
      return deleteInList(type.item, value, path, selector);
    case "scalar":
      if (type.scalar === "any" && value instanceof Map) {
        return deleteInMap(type, value, path, selector);
      }
      return NOT_FOUND;
    case "enum":
      return NOT_FOUND;
  }
}

function deleteInMap(
  type: ConfigType,
  value: unknown,
  [step = "", ...rest]: readonly string[],
  selector: DeleteSelector,
): Outcome<Map<string, unknown>> {
  const map = value instanceof Map
    ? new Map<string, unknown>(value)
    : new Map(Object.entries((value ?? {}) as Fields));
  if (!map.has(step)) return NOT_FOUND;
  if (rest.length === 0) {
    map.delete(step);
    return map;
  }
  const below = deleteBelow(type, map.get(step), rest, selector);
  if (typeof below === "string") return below;
  map.set(step, below);
  return map;
}

function deleteInList(
  type: ConfigType,
  value: unknown,
  path: readonly string[],
  { key, value: wanted }: DeleteSelector,
): Outcome<unknown[]> {
  if (path.length > 1) return "searching for complex paths in slices is not supported";
  if (!path[0]?.startsWith("[")) return "searching for non-integer keys in slices is not supported";
  const list = Array.isArray(value) ? value : [];
  const field = type.form === "struct" ? type.struct.fields.get(key)?.type : undefined;
  // Only texts and enumerations can be compared with what the patch says.
  const isComparable = field?.form === "enum" ||
    field?.form === "scalar" && !["int", "uint", "bool", "float"].includes(field.scalar);
  const at = isComparable
    ? list.findIndex((item: Fields | null) => String(item?.[key] ?? "") === wanted)
    : -1;
  return at === -1 ? NOT_FOUND : list.toSpliced(at, 1);
}
