// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Applies patches to a machine configuration.
 *
 * @module
 */

import { type ConfigDocument, parseDocuments } from "./documents.ts";
import { joinDocuments, writeYaml, type YamlValue } from "./yaml_write.ts";

/**
 * Applies patches in their order; the last one wins.
 *
 * @throws CodedError `invalidArgument` for a patch that cannot be read or applied.
 */
export function applyPatches(config: string, patches: readonly string[]): string {
  let documents = parseDocuments(config);
  for (const patch of patches) documents = mergeDocuments(documents, parseDocuments(patch));
  return joinDocuments(documents.map(({ value }) => writeYaml(value as YamlValue)));
}

function mergeDocuments(
  base: readonly ConfigDocument[],
  patch: readonly ConfigDocument[],
): ConfigDocument[] {
  const result = [...base];
  for (const right of patch) {
    const at = result.findIndex(({ kind, name }) => kind === right.kind && name === right.name);
    const left = result[at];
    if (left === undefined) result.push(right);
    else result[at] = { ...left, value: mergeRecords(left.value, right.value) };
  }
  return result;
}

type Fields = Readonly<Record<string, unknown>>;

function mergeRecords(left: Fields, right: Fields): Fields {
  const merged: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) merged[key] = mergeValues(merged[key], value);
  return merged;
}

function mergeValues(left: unknown, right: unknown): unknown {
  if (right === null || right === undefined) return left;
  if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
  const isRecord = (value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord(left) && isRecord(right) ? mergeRecords(left as Fields, right as Fields) : right;
}
