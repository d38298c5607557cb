// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Turns a selection into a test of one resource.
 *
 * @module
 */

import { RE2JS } from "re2js";
import { CodedError } from "../../base/errors.ts";
import { labelsMatch } from "./label_query.ts";
import type { RawResource } from "./raw_resource.ts";
import type { Selection } from "./state.ts";

/** Tells whether a resource is selected. */
export type Matcher = (resource: RawResource) => boolean;

/** Compiles a regular expression in RE2 syntax; linear in time whatever a stranger writes. */
function compileRegexp(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (cause) {
    throw new CodedError(
      "invalidArgument",
      `Cannot use ID query: ${JSON.stringify(source.slice(0, 200))} is no regular expression`,
      { cause },
    );
  }
}

/** Compiles a selection; `undefined` when it selects everything. */
export function compileSelection(selection: Selection): Matcher | undefined {
  const { labelQueries = [], idRegexp } = selection;
  const regexp = idRegexp === undefined || idRegexp === "" ? undefined : compileRegexp(idRegexp);
  const byLabel = labelQueries.length > 0 &&
    labelQueries.every(({ terms }) => terms.length > 0);
  if (regexp === undefined) {
    if (!byLabel) return undefined;
    return ({ metadata }) => labelsMatch(labelQueries, metadata.labels);
  }
  return ({ metadata }) =>
    (!byLabel || labelsMatch(labelQueries, metadata.labels)) &&
    regexp.matcher(metadata.id).find();
}
