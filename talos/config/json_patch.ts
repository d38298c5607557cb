// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * JSON 6902 patches: reading both of their forms, and applying them to a text of one document.
 *
 * @module
 */

import jsonPatch from "fast-json-patch";
import { CodedError } from "../../base/errors.ts";
import { decodeAny } from "./decode.ts";
import { orderAny } from "./encode.ts";
import { StepBudget } from "./yaml_node.ts";
import { parseYamlText } from "./yaml_parse.ts";
import { toPlain } from "./yaml_read.ts";
import { JSON_PATCH_LAYOUT, writeYaml } from "./yaml_write.ts";

/** One operation, as read. */
export type JsonOperation = Readonly<Record<string, unknown>>;

/** Longest path that an operation may name, in characters. */
const MAX_POINTER_LENGTH = 4096;

/** Reads the operations of a JSON text, or `undefined` when it is none. */
export function parseJsonOperations(text: string): readonly JsonOperation[] | undefined {
  try {
    return asOperations(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Reads the operations of a YAML text, or `undefined` when it is no list of mappings. */
export function parseYamlOperations(text: string): readonly JsonOperation[] | undefined {
  try {
    const [root] = parseYamlText(text).roots;
    return root === undefined ? [] : asOperations(toPlain(decodeAny(root.node, new StepBudget())));
  } catch (error) {
    if (error instanceof CodedError) return undefined;
    throw error;
  }
}

function asOperations(value: unknown): readonly JsonOperation[] | undefined {
  if (value === null) return [];
  if (!Array.isArray(value)) return undefined;
  return value.every(isPlain) ? value : undefined;
}

/**
 * Applies operations to a text, which must hold exactly one document. The result is printed with
 * sorted keys, because JSON has no order to keep.
 *
 * @throws CodedError `invalidArgument`
 */
export function applyJsonPatch(text: string, operations: readonly JsonOperation[]): string {
  const { roots } = parseYamlText(text);
  const [root] = roots;
  if (root === undefined || roots.length !== 1) {
    throw new CodedError(
      "invalidArgument",
      "JSON6902 patches are not supported for multi-document machine configuration",
    );
  }
  let document = toPlain(decodeAny(root.node, new StepBudget()));
  for (const operation of operations) document = applyOperation(document, operation);
  return writeYaml(orderAny(document), JSON_PATCH_LAYOUT);
}

function applyOperation(document: unknown, operation: JsonOperation): unknown {
  const { op, path } = operation;
  const fail = (reason: string, cause?: unknown) =>
    new CodedError(
      "invalidArgument",
      `failure applying rfc6902 patches to talos machine config: error in ${op} for path: ` +
        `'${path}': ${reason}`,
      { cause },
    );
  for (const pointer of [path, operation.from]) {
    if (pointer === undefined) continue;
    if (typeof pointer !== "string" || pointer.length > MAX_POINTER_LENGTH) {
      throw fail("want a JSON pointer");
    }
  }
  // Replacing a key that is not there sets it, as Talos's library has it.
  const isSetting = op === "replace" && isPlain(parentOf(document, String(path)));
  try {
    const patch = { ...operation, op: isSetting ? "add" : op } as unknown as jsonPatch.Operation;
    return jsonPatch.applyOperation(document, patch, true, true, true).newDocument;
  } catch (error) {
    // The library's text repeats the whole document, secrets included.
    const name = error instanceof Error ? error.name : "";
    throw fail(REASONS[name] ?? "the operation cannot be applied");
  }
}

/** The value that holds what a pointer points to, or `undefined`. */
function parentOf(document: unknown, pointer: string): unknown {
  let value = document;
  for (const step of pointer.split("/").slice(1, -1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = value[Number(key)];
    else if (isPlain(value)) value = value[key];
    else return undefined;
  }
  return value;
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const REASONS: Readonly<Record<string, string>> = {
  OPERATION_PATH_UNRESOLVABLE: "missing value",
  OPERATION_FROM_UNRESOLVABLE: "missing value at from",
  OPERATION_PATH_CANNOT_ADD: "missing parent",
  OPERATION_OP_INVALID: "unknown operation",
  OPERATION_VALUE_REQUIRED: "missing value to set",
  OPERATION_PATH_ILLEGAL_ARRAY_INDEX: "bad position in a list",
  OPERATION_VALUE_OUT_OF_BOUNDS: "position beyond the end of a list",
  TEST_OPERATION_FAILED: "testing value failed",
};
