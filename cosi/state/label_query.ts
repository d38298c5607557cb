// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Selection of resources by their labels.
 *
 * @module
 */

/** How a term compares a label; the names are those of the wire. */
export type LabelOp = "exists" | "equal" | "in" | "lt" | "lte" | "ltNumeric" | "lteNumeric";

/** One condition on one label. */
export interface LabelTerm {
  readonly key: string;
  readonly op: LabelOp;
  readonly values: readonly string[];
  readonly invert: boolean;
}

/** Terms that must all hold. */
export interface LabelQuery {
  readonly terms: readonly LabelTerm[];
}
