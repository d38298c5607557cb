// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Applies patches to a machine configuration: strategic merge patches, and JSON 6902 patches where
 * the configuration is a single document.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import {
  arrangeDocuments,
  type ConfigModel,
  documentId,
  encodeConfig,
  loadConfig,
  loadRoots,
  type ModelDocument,
} from "./config_load.ts";
import {
  applyJsonPatch,
  type JsonOperation,
  parseJsonOperations,
  parseYamlOperations,
} from "./json_patch.ts";
import { mergeStruct } from "./merge.ts";
import { applyDelete, type DeleteSelector, extractDeletes } from "./patch_delete.ts";
import { isNullNode } from "./decode.ts";
import { MAIN_KIND } from "./schema.ts";
import type { MapNode, YamlNode, YamlText } from "./yaml_node.ts";
import { parseYamlText } from "./yaml_parse.ts";

/** A patch that was read. */
export type ConfigPatch =
  | { readonly form: "strategic"; readonly parts: readonly StrategicPart[] }
  | { readonly form: "json"; readonly operations: readonly JsonOperation[] };

/** A step of a strategic patch. */
export type StrategicPart =
  | { readonly kind: "merge"; readonly document: ModelDocument }
  | { readonly kind: "delete"; readonly selector: DeleteSelector };

/**
 * Applies patches in their order; the last one wins.
 *
 * @throws CodedError `invalidArgument` for a patch that cannot be read or applied.
 */
export function applyPatches(config: string, patches: readonly string[]): string {
  return patches.length === 0 ? config : patchConfig(config, patches.map(parsePatch));
}

/**
 * Applies patches that were read before to a text or a model.
 *
 * @throws CodedError `invalidArgument` for a patch that cannot be applied.
 */
function patchConfig(config: string | ConfigModel, patches: readonly ConfigPatch[]): string {
  let current = config;
  for (const patch of joinJsonPatches(patches)) {
    if (patch.form === "json") {
      const text = typeof current === "string" ? current : encodeConfig(current);
      current = applyJsonPatch(text, patch.operations);
    } else {
      const model = typeof current === "string" ? loadConfig(current) : current;
      current = mergePatch(model, patch.parts);
    }
  }
  return typeof current === "string" ? current : encodeConfig(current);
}

/** JSON patches that follow each other are one. */
function joinJsonPatches(patches: readonly ConfigPatch[]): readonly ConfigPatch[] {
  const joined: ConfigPatch[] = [];
  for (const patch of patches) {
    const last = joined.at(-1);
    if (patch.form === "json" && last?.form === "json") {
      const operations = [...last.operations, ...patch.operations];
      joined[joined.length - 1] = { form: "json", operations };
    } else joined.push(patch);
  }
  return joined;
}

/**
 * Reads a patch and finds out which form it has.
 *
 * @throws CodedError `invalidArgument` when it has none.
 */
function parsePatch(text: string): ConfigPatch {
  let reason: unknown;
  try {
    const parts = parseStrategicPatch(parseYamlText(text), { allowDuplicates: true });
    return { form: "strategic", parts };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    reason = error;
  }
  const operations = parseJsonOperations(text) ?? parseYamlOperations(text);
  if (operations !== undefined) return { form: "json", operations };
  if (text.trimStart().startsWith("[")) {
    throw new CodedError("invalidArgument", "Cannot read patch: want a JSON list of operations", {
      cause: reason,
    });
  }
  throw reason;
}

/**
 * Reads a strategic patch.
 *
 * @throws CodedError `invalidArgument`
 */
export function parseStrategicPatch(
  parsed: YamlText,
  options: { readonly allowDuplicates: boolean },
): readonly StrategicPart[] {
  // The marks of a document come before what remains of it.
  const marks: (readonly DeleteSelector[])[] = [];
  const remains: (YamlNode | undefined)[] = [];
  for (const { node, start } of parsed.roots) {
    if (isNullNode(node)) continue;
    const extraction = node.kind === "map"
      ? extractFrom(node, parsed.position(start).line)
      : { selectors: [], remaining: node };
    marks.push(extraction.selectors);
    remains.push(extraction.remaining);
  }
  const nodes = remains.filter((node) => node !== undefined);
  const documents = loadRoots(parsed, nodes, options)[Symbol.iterator]();
  const parts = marks.flatMap((selectors, i): StrategicPart[] => {
    const deletes = selectors.map((selector) => ({ kind: "delete" as const, selector }));
    const document = remains[i] === undefined ? undefined : documents.next().value;
    return document === undefined ? deletes : [...deletes, { kind: "merge", document }];
  });
  if (parts.length === 0) throw new CodedError("invalidArgument", "config not found");
  // Deletions in the main document come before everything else.
  const isEarly = (part: StrategicPart) =>
    part.kind === "delete" && part.selector.kind === MAIN_KIND;
  return [...parts.filter(isEarly), ...parts.filter((part) => !isEarly(part))];
}

function extractFrom(node: MapNode, line: number): ReturnType<typeof extractDeletes> {
  try {
    return extractDeletes(node);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    throw new CodedError(
      "invalidArgument",
      `error processing patch delete statements at line ${line}: ${error.message}`,
    );
  }
}

/**
 * Merges a strategic patch into a configuration.
 *
 * @throws CodedError `invalidArgument`
 */
function mergePatch(base: ConfigModel, parts: readonly StrategicPart[]): ConfigModel {
  const documents = new Map(base.map((document) => [documentId(document), document]));
  for (const part of parts) {
    if (part.kind === "delete") deletePart(documents, part.selector);
    else {
      const id = documentId(part.document);
      const left = documents.get(id);
      if (left === undefined) documents.set(id, part.document);
      else {
        const value = mergeStruct(left.type, left.value, part.document.value);
        documents.set(id, { ...left, value });
      }
    }
  }
  return arrangeDocuments([...documents.values()]);
}

function deletePart(documents: Map<string, ModelDocument>, selector: DeleteSelector): void {
  const id = selector.name === "" ? selector.kind : `${selector.kind}/${selector.name}`;
  const document = documents.get(id);
  // What is not there needs no deletion.
  if (document === undefined) return;
  const value = applyDelete(document, selector);
  if (value === undefined) documents.delete(id);
  else documents.set(id, { ...document, value });
}
