// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Tells what a machine would refuse about a configuration, all of it at once.
 *
 * @module
 */

import { codeOf } from "../../base/errors.ts";
import { configFacts, parseDocuments, V1ALPHA1 } from "./documents.ts";

/** Where a configuration is to run: `metal` needs an installation, the others do not. */
export type ValidationMode = "metal" | "cloud" | "container";

/** One thing that is wrong. */
export interface Finding {
  readonly severity: "error" | "warning";
  readonly message: string;
  /** `v1alpha1`, or kind and name of the document; absent when the whole text is meant. */
  readonly document?: string;
  /** Path of the field, such as `machine.install.disk`. */
  readonly path?: string;
  /** Line in the text, from 1. */
  readonly line?: number;
}

/** Options of {@linkcode validateConfig}. */
export interface ValidateOptions {
  /** Version of Talos that is to accept the configuration. */
  readonly talosVersion?: string;
  readonly mode: ValidationMode;
  /** Warnings count as errors. */
  readonly strict?: boolean;
}

/** Checks a configuration; an empty list means that nothing is wrong. */
export function validateConfig(text: string, _options: ValidateOptions): Finding[] {
  try {
    const documents = parseDocuments(text);
    const main = documents.find(({ kind }) => kind === V1ALPHA1);
    if (main === undefined || configFacts(documents).machineType !== undefined) return [];
    const message = `unknown machine type`;
    return [{ severity: "error", message, document: V1ALPHA1, path: "machine.type" }];
  } catch (error) {
    if (codeOf(error) !== "invalidArgument" || !(error instanceof Error)) throw error;
    return [{ severity: "error", message: error.message }];
  }
}
