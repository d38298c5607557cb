// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * YAML as a tree of nodes that remember where they stand, with anchors and merge keys resolved.
 *
 * A shared node is one object however often it is referred to; whoever walks the tree counts steps.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/** A mapping; keys are texts. */
export interface MapNode {
  readonly kind: "map";
  readonly offset: number;
  readonly entries: readonly MapEntry[];
}

/** A key of a mapping with its value. */
export interface MapEntry {
  readonly key: string;
  readonly keyOffset: number;
  readonly value: YamlNode;
}

/** A sequence. */
export interface SeqNode {
  readonly kind: "seq";
  readonly offset: number;
  readonly items: readonly YamlNode[];
}

/** A scalar as written. */
export interface ScalarNode {
  readonly kind: "scalar";
  readonly offset: number;
  /** The text without quotes and escapes. */
  readonly text: string;
  /** Whether the text stood without quotes, so that it may mean a number. */
  readonly isPlain: boolean;
  /** An explicit tag, such as `!!int`. */
  readonly tag: string | undefined;
}

/** A node of a document. */
export type YamlNode = MapNode | SeqNode | ScalarNode;

/** The root of a document. */
export interface YamlRoot {
  readonly node: YamlNode;
  /** Where the document begins: at its separator, if it has one. */
  readonly start: number;
}

/** The documents of a text. */
export interface YamlText {
  readonly source: string;
  /** Roots of the documents; an empty document is a null scalar. */
  readonly roots: readonly YamlRoot[];
  /** Line and column of an offset, both from 1. */
  position(offset: number): { readonly line: number; readonly column: number };
}

/** Steps that a walk over a tree may take; aliases can make a small text explode. */
export class StepBudget {
  #left = 500_000;

  /** Takes one step. */
  step(): void {
    if (--this.#left < 0) {
      throw new CodedError("invalidArgument", "Cannot read YAML: aliases expand to too many nodes");
    }
  }
}
