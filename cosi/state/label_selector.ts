// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Label selectors as people write them.
 *
 * A term is `key`, `!key`, `key=value`, `key==value`, `key!=value`, `key in (a,b)`,
 * `key notin (a,b)`, or `key<value` with `<`, `<=`, `>`, `>=` for numbers; terms are joined by commas
 * and must all hold.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { LabelOp, LabelQuery, LabelTerm } from "./label_query.ts";

const COMPARISONS: Readonly<Record<string, { readonly op: LabelOp; readonly invert: boolean }>> = {
  "=": { op: "equal", invert: false },
  "==": { op: "equal", invert: false },
  "!=": { op: "equal", invert: true },
  "<": { op: "ltNumeric", invert: false },
  "<=": { op: "lteNumeric", invert: false },
  // What is no number matches neither way.
  ">": { op: "lteNumeric", invert: true },
  ">=": { op: "ltNumeric", invert: true },
};

const KEY = "[^\\s!=<>(),]+";
const EXISTENCE = new RegExp(`^(!?)\\s*(${KEY})$`);
const MEMBERSHIP = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const COMPARISON = new RegExp(`^(${KEY})\\s*(==|!=|<=|>=|=|<|>)\\s*([^!=<>(),]*)$`);

function splitTerms(selector: string): string[] {
  // A comma inside of parentheses belongs to its list.
  return selector.split(/,(?![^(]*\))/).map((term) => term.trim());
}

function parseTerm(text: string): LabelTerm | undefined {
  const existence = EXISTENCE.exec(text);
  if (existence !== null) {
    return { key: existence[2] ?? "", op: "exists", values: [], invert: existence[1] === "!" };
  }
  const membership = MEMBERSHIP.exec(text);
  if (membership !== null) {
    const values = (membership[3] ?? "").split(",").map((value) => value.trim());
    return { key: membership[1] ?? "", op: "in", values, invert: membership[2] === "notin" };
  }
  const comparison = COMPARISON.exec(text);
  const operator = COMPARISONS[comparison?.[2] ?? ""];
  if (comparison === null || operator === undefined) return undefined;
  return { key: comparison[1] ?? "", values: [(comparison[3] ?? "").trim()], ...operator };
}

/**
 * Reads a selector.
 *
 * @throws CodedError `invalidArgument` naming the term that cannot be read.
 */
export function parseSelector(selector: string): LabelQuery {
  const terms = splitTerms(selector).map((text) => {
    const term = parseTerm(text);
    if (term !== undefined) return term;
    throw new CodedError(
      "invalidArgument",
      `Cannot read selector "${selector}": "${text}" is no term such as a=b, !a or a in (b,c)`,
    );
  });
  return { terms };
}
