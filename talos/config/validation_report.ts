// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Findings in the form in which Talos's tools print them.
 *
 * @module
 */

import { formatErrors } from "./error_list.ts";
import { MAIN_KIND } from "./schema.ts";
import type { Finding } from "./validate.ts";

/** Warnings and errors as texts; `text` is the whole error, absent without one. */
export interface ValidationReport {
  readonly warnings: readonly string[];
  readonly errors: readonly string[];
  readonly text?: string;
}

/** Gathers findings as Talos does: those of the main document are one error, and so on. */
export function reportFindings(findings: readonly Finding[]): ValidationReport {
  const warnings = findings.filter(({ severity }) => severity === "warning")
    .map(({ message }) => message);
  const wrong = findings.filter(({ severity }) => severity === "error");
  const unread = wrong.find(({ source }) => source === "text");
  // What cannot be loaded is not checked any further.
  if (unread !== undefined) return { warnings: [], errors: [unread.message], text: unread.message };
  const errors: string[] = [];
  const ofMain = wrong.filter(({ source, document }) =>
    source === "document" && document === MAIN_KIND
  );
  if (ofMain.length > 0) {
    errors.push(`v1alpha1.Config: ${formatErrors(ofMain.map(({ message }) => message))}`);
  }
  const byDocument = new Map<string, string[]>();
  for (const { source, document, message } of wrong) {
    if (source !== "document" || document === undefined || document === MAIN_KIND) continue;
    byDocument.set(document, [...byDocument.get(document) ?? [], message]);
  }
  for (const [document, messages] of byDocument) errors.push(`${document}: ${messages.join("\n")}`);
  errors.push(...wrong.filter(({ source }) => source === "whole").map(({ message }) => message));
  return errors.length === 0
    ? { warnings, errors }
    : { warnings, errors, text: formatErrors(errors) };
}
