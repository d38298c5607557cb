// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a YAML scalar means, in the way of Talos's YAML reader: YAML 1.2, with binary numbers and
 * underscores in numbers as in YAML 1.1.
 *
 * @module
 */

import type { ScalarNode } from "./yaml_node.ts";

/** A scalar with its meaning. */
export type Resolved =
  | { readonly type: "null" }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "int"; readonly value: bigint }
  | { readonly type: "float"; readonly value: number }
  | { readonly type: "timestamp"; readonly value: string }
  | { readonly type: "str"; readonly value: string };

const NULLS = new Set(["", "~", "null", "Null", "NULL"]);
const TRUES = new Set(["true", "True", "TRUE"]);
const FALSES = new Set(["false", "False", "FALSE"]);
const INFINITIES = new Set([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"]);
const NEGATIVE_INFINITIES = new Set(["-.inf", "-.Inf", "-.INF"]);
const NOT_NUMBERS = new Set([".nan", ".NaN", ".NAN"]);
const INTEGER = /^[-+]?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const DATE = /^\d{4}-\d{1,2}-\d{1,2}$/;

/** Resolves a scalar. */
export function resolveScalar(node: ScalarNode): Resolved {
  const { text, tag } = node;
  if (tag === "!!str" || (!node.isPlain && tag === undefined)) return { type: "str", value: text };
  if (NULLS.has(text)) return { type: "null" };
  const first = text.charCodeAt(0);
  const isLetter = (first | 0x20) >= 0x61 && (first | 0x20) <= 0x7a;
  if (isLetter || first === 0x7e) {
    if (TRUES.has(text)) return { type: "bool", value: true };
    if (FALSES.has(text)) return { type: "bool", value: false };
    return { type: "str", value: text };
  }
  return resolveNumber(text) ?? { type: "str", value: text };
}

function resolveNumber(text: string): Resolved | undefined {
  if (!/^[-+.0-9]/.test(text)) return undefined;
  if (INFINITIES.has(text)) return { type: "float", value: Infinity };
  if (NEGATIVE_INFINITIES.has(text)) return { type: "float", value: -Infinity };
  if (NOT_NUMBERS.has(text)) return { type: "float", value: NaN };
  const integer = parseInteger(text);
  if (integer !== undefined) return { type: "int", value: integer };
  if (DATE.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))) {
    return { type: "timestamp", value: `${text}T00:00:00Z` };
  }
  const digits = text.replaceAll("_", "");
  if (FLOAT.test(digits)) {
    const value = Number(digits);
    if (Number.isFinite(value)) return { type: "float", value };
  }
  return undefined;
}

/** Reads an integer of at most 64 bit in any of YAML's bases. */
export function parseInteger(text: string): bigint | undefined {
  const digits = text.replaceAll("_", "");
  if (digits.length > 70 || !INTEGER.test(digits)) return undefined;
  const isNegative = digits.startsWith("-");
  const body = digits.replace(/^[-+]/, "").toLowerCase();
  const magnitude = BigInt(/^0[0-7]+$/.test(body) ? `0o${body.slice(1)}` : body);
  const value = isNegative ? -magnitude : magnitude;
  return value >= -(1n << 63n) && value < 1n << 64n ? value : undefined;
}
