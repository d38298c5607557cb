// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Label selectors as people type them.
 *
 * A term is `key`, `!key`, `key=value`, `key==value`, `key!=value`, `key in (a,b)`,
 * `key notin (a,b)` or `key<value` with `<`, `<=`, `>`, `>=` for numbers; terms are joined by commas
 * and must all hold.
 *
 * @module
 */

import type { LabelOp, LabelQuery, LabelTerm } from "../cosi/state/label_query.ts";
import { usageError } from "./ctl_usage.ts";

function splitTerms(selector: string): string[] {
  // A comma inside of parentheses belongs to its list.
  return selector.split(/,(?![^(]*\))/).map((term) => term.trim());
}

const COMPARISONS: Readonly<Record<string, { readonly op: LabelOp; readonly invert: boolean }>> = {
  "=": { op: "equal", invert: false },
  "==": { op: "equal", invert: false },
  "!=": { op: "equal", invert: true },
  "<": { op: "ltNumeric", invert: false },
  "<=": { op: "lteNumeric", invert: false },
  // Whatever is not a number matches neither way.
  ">": { op: "lteNumeric", invert: true },
  ">=": { op: "ltNumeric", invert: true },
};

function parseTerm(text: string, selector: string): LabelTerm {
  const single = /^(!?)\s*([^\s!=<>(),]+)$/.exec(text);
  if (single !== null) {
    return { key: single[2] ?? "", op: "exists", values: [], invert: single[1] === "!" };
  }
  const set = /^([^\s!=<>(),]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text);
  if (set !== null) {
    const values = (set[3] ?? "").split(",").map((value) => value.trim());
    return { key: set[1] ?? "", op: "in", values, invert: set[2] === "notin" };
  }
  const comparison = /^([^\s!=<>(),]+)\s*(==|!=|<=|>=|=|<|>)\s*([^!=<>(),]*)$/.exec(text);
  const operator = COMPARISONS[comparison?.[2] ?? ""];
  if (comparison === null || operator === undefined) {
    throw usageError(`selector "${selector}" has a term that cannot be read: "${text}"`);
  }
  return { key: comparison[1] ?? "", values: [(comparison[3] ?? "").trim()], ...operator };
}

/** Reads a selector. */
export function parseSelector(selector: string): LabelQuery {
  return { terms: splitTerms(selector).map((term) => parseTerm(term, selector)) };
}
