// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reads small YAML texts as plain values.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { decodeAny, isNullNode } from "./decode.ts";
import { StepBudget } from "./yaml_node.ts";
import { parseYamlText } from "./yaml_parse.ts";
import { RawScalar } from "./yaml_write.ts";

/**
 * The value of a text that holds one document; mappings become objects.
 *
 * @throws CodedError `invalidArgument`
 */
export function parseSimpleYaml(text: string): unknown {
  const roots = parseYamlText(text).roots.filter(({ node }) => !isNullNode(node));
  const [root] = roots;
  if (root === undefined || roots.length !== 1) {
    throw new CodedError("invalidArgument", "Cannot read YAML: want exactly one document");
  }
  return toPlain(decodeAny(root.node, new StepBudget()));
}

/** Mappings as plain objects without a prototype, so that no key means anything but itself. */
export function toPlain(value: unknown): unknown {
  if (value instanceof Map) {
    const plain: Record<string, unknown> = Object.create(null);
    for (const [key, item] of value) plain[key] = toPlain(item);
    return plain;
  }
  if (Array.isArray(value)) return value.map(toPlain);
  return value instanceof RawScalar ? value.text : value;
}
